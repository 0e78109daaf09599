import FoundationEssentials
import Testing

@testable import Bluebonnet

/// UTF-8 in messages, in the order of the Autobahn suite's chapter 6.
@Suite struct WebSocketTextTests {
    static let valid: [String] = [
        "48656c6c6f2dc2b540c39fc3b6c3a4c3bcc3a0c3a12d5554462d382121",  // 6.2
        "cebae1bdb9cf83cebcceb5",  // 6.5
        "ce ba", "ceba e1bdb9", "cebae1bdb9cf83", "cebae1bdb9cf83cebc",  // 6.6
        "00", "c280", "e0a080", "f0908080",  // 6.7
        "7f", "dfbf", "efbfbf", "f48fbfbf",  // 6.9
        "ed9fbf", "ee8080", "efbfbd", "f18080 80", "f3bfbfbf",  // 6.11
        "efbbbf", "efbbbf61",  // A byte order mark is a character of the text.
        "efbfb9efbfbaefbfbbefbfbcefbfbd",  // 6.23
    ]

    // 6.22: the last two characters of each plane are valid, although Unicode has no characters there.
    static let noncharacters: [String] = (0...16).flatMap { plane -> [String] in
        [0xfffe, 0xffff].compactMap { last in
            UnicodeScalar(UInt32(plane << 16 | last)).map { scalar in
                String(Character(scalar)).utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            }
        }
    }

    static let invalid: [String] = [
        "cebae1bdb9cf83cebcceb5eda080656469746564",  // 6.3
        "ce", "cebae1", "cebae1bd", "cebae1bdb9cf", "cebae1bdb9cf83ce", "cebae1bdb9cf83cebcce",  // 6.6
        "f888808080", "fc8480808080",  // 6.8
        "f7bfbfbf", "fbbfbfbfbf", "fdbfbfbfbfbf",  // 6.10
        "f4908080",  // 6.11
        "80", "bf", "80bf", "80bf80", "80bf80bf", "80bf80bf80", "80bf80bf80bf",  // 6.12
        "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
        "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbe",
        "c020c120c220c320c420c520c620c720c820c920ca20cb20cc20cd20ce20cf20",  // 6.13
        "c220", "d020d120d220d320d420d520d620d720d820d920da20db20dc20dd20de20df20",
        "e020e120e220e320e420e520e620e720e820e920ea20eb20ec20ed20ee20ef20", "f020f120f220f320f420f520f620f720",
        "f820f920fa20fb20", "fc20fd20",
        "c0", "e080", "f08080", "f8808080", "fc80808080", "df", "efbf", "f7bfbf", "fbbfbfbf", "fdbfbfbfbf",  // 6.14
        "e0a0", "f09080", "f48fbf", "ed9f",
        "c0e080f08080f8808080fc80808080dfefbff7bfbffbbfbfbffdbfbfbfbf",  // 6.15
        "fe", "ff", "fefeffff",  // 6.16
        "c0af", "e080af", "f08080af", "f8808080af", "fc80808080af",  // 6.17
        "c1bf", "e09fbf", "f08fbfbf", "f887bfbfbf", "fc83bfbfbfbf",  // 6.18
        "c080", "e08080", "f0808080", "f880808080", "fc8080808080",  // 6.19
        "eda080", "edadbf", "edae80", "edafbf", "edb080", "edbe80", "edbfbf",  // 6.20
        "eda080edb080", "eda080edbfbf", "edadbfedb080", "edadbfedbfbf",  // 6.21
        "edae80edb080", "edae80edbfbf", "edafbfedb080", "edafbfedbfbf",
    ]

    /// A text in one frame, in two frames cut at each position, and in frames of one byte.
    private static func frames(_ bytes: [UInt8]) -> [[[UInt8]]] {
        let halves = bytes.indices.map { cut in
            [ServerFrame.raw(0x01, Array(bytes[..<cut])), ServerFrame.raw(0x80, Array(bytes[cut...]))]
        }
        let single = bytes.indices.map { index -> [UInt8] in
            let opcode: UInt8 = index == 0 ? 1 : 0
            return ServerFrame.raw(opcode | (index == bytes.count - 1 ? 0x80 : 0), [bytes[index]])
        }
        return [[ServerFrame.raw(0x81, bytes)], single] + halves
    }

    @Test(arguments: valid + noncharacters)
    func `valid text is received in any frames`(_ hex: String) {
        let bytes = ServerFrame.hex(hex)
        let text = String(decoding: bytes, as: UTF8.self)
        for frames in Self.frames(bytes) {
            WebSocketRow(hex, frames + [ServerFrame.ping()], [.text(text), .ping([])]).check()
        }
    }

    @Test(arguments: invalid)
    func `invalid text is a violation in any frames`(_ hex: String) {
        for frames in Self.frames(ServerFrame.hex(hex)) {
            WebSocketRow(hex, frames + [ServerFrame.ping()], [.fail(1007)]).check()
        }
    }

    @Test(arguments: invalid)
    func `invalid text after valid text is a violation`(_ hex: String) {
        let frames = [ServerFrame.text("κόσμε"), ServerFrame.raw(0x81, Array("κόσμε".utf8) + ServerFrame.hex(hex))]
        WebSocketRow(hex, frames, [.text("κόσμε"), .fail(1007)]).check()
    }

    /// The characters of a text, and bytes that cannot follow them.
    static let early: [(valid: String, invalid: String)] = [
        ("cebae1bdb9cf83cebcceb5", "f4 90"),  // 6.4: above U+10FFFF
        ("", "80"), ("", "c0"), ("", "c1"), ("", "f5"), ("", "ff"), ("61", "e0 9f"), ("61", "ed a0"),
        ("61", "f0 8f"), ("61", "c2 20"), ("61", "e1 80 c0"), ("61", "f1 80 80 20"),
    ]

    @Test(arguments: early)
    func `invalid text is a violation at the first byte that cannot follow`(_ valid: String, invalid: String) {
        let (valid, invalid) = (ServerFrame.hex(valid), ServerFrame.hex(invalid))
        var receiver = WebSocketReceiver()
        receiver.append(Data([0x81, 100] + valid + invalid.dropLast()))
        while let event = receiver.next() {
            #expect(event == .text(String(decoding: valid, as: UTF8.self), isFinal: false))
        }
        receiver.append(Data(invalid.suffix(1)))
        #expect(receiver.next() == .violation(.init(code: .invalidPayload, reason: "a text is not UTF-8")))
    }

    @Test func `binary messages may contain any bytes`() {
        for hex in Self.invalid {
            let bytes = ServerFrame.hex(hex)
            WebSocketRow(hex, [ServerFrame.binary(bytes)], [.binary(bytes)]).check()
        }
    }
}
