import Bluebonnet
import FoundationEssentials
import Testing

/// A stream, and the expected events.
struct EventStreamCase: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let events: [ServerSentEvent]
    let lastEventID: String
    let reconnectionTime: Duration?

    init(
        _ name: String, _ text: String, _ events: [ServerSentEvent], lastEventID: String = "",
        reconnectionTime: Duration? = nil
    ) {
        self.init(name, Array(text.utf8), events, lastEventID: lastEventID, reconnectionTime: reconnectionTime)
    }

    init(
        _ name: String, _ bytes: [UInt8], _ events: [ServerSentEvent], lastEventID: String = "",
        reconnectionTime: Duration? = nil
    ) {
        self.name = name
        self.bytes = bytes
        self.events = events
        self.lastEventID = lastEventID
        self.reconnectionTime = reconnectionTime
    }

    var testDescription: String { name }
}

@Suite struct ServerSentEventParserTests {
    private static func data(_ text: String) -> ServerSentEvent { ServerSentEvent(data: text) }

    private static func run(_ stream: EventStreamCase, lastEventID: String = "") throws {
        for chunks in Chunking.everyWay(stream.bytes) {
            var parser = ServerSentEventParser(lastEventID: lastEventID)
            var events: [ServerSentEvent] = []
            for chunk in chunks {
                parser.append(chunk)
                while let event = try parser.next() { events.append(event) }
            }
            #expect(events == stream.events, "\(chunks.map { Array($0) })")
            // Equal strings may differ in their scalars.
            #expect(events.map { Array($0.data.utf8) } == stream.events.map { Array($0.data.utf8) })
            #expect(parser.lastEventID == stream.lastEventID, "\(chunks.map { Array($0) })")
            #expect(parser.reconnectionTime == stream.reconnectionTime, "\(chunks.map { Array($0) })")
        }
    }

    static let lineCases: [EventStreamCase] = [
        EventStreamCase("an empty stream", "", []),
        EventStreamCase("one event", "data: hello\n\n", [data("hello")]),
        EventStreamCase("CR ends lines", "data:a\rdata:b\r\rdata:c\r\r", [data("a\nb"), data("c")]),
        EventStreamCase("CRLF ends lines", "data:a\r\ndata:b\r\n\r\ndata:c\r\n\r\n", [data("a\nb"), data("c")]),
        EventStreamCase(
            "line ends are mixed", "data:a\rdata:b\ndata:c\r\ndata:d\n\r\ndata:e\r\n\rdata:f\r\r\n",
            [data("a\nb\nc\nd"), data("e"), data("f")]),
        EventStreamCase("CRLF is one line end", "data:a\r\ndata:b\r\n\n", [data("a\nb")]),
        EventStreamCase("LF CR is two line ends", "data:a\n\rdata:b\n\n", [data("a"), data("b")]),
        EventStreamCase(
            "other line ends are text", "data:a\u{85}b\u{2028}c\u{B}d\u{C}e\n\n",
            [
                data("a\u{85}b\u{2028}c\u{B}d\u{C}e")
            ]),
        EventStreamCase("blank lines alone are nothing", "\n\r\r\n\n\n", []),
        EventStreamCase("the tail is dropped", "data:kept\n\ndata:lost\n", [data("kept")]),
        EventStreamCase("an unfinished line is dropped", "data:kept\n\ndata:lo", [data("kept")]),
        EventStreamCase(
            "an ID in the tail does not count", "id:1\ndata:a\n\nid:2\ndata:b\n",
            [
                ServerSentEvent(data: "a", id: "1")
            ], lastEventID: "1"),
        EventStreamCase("a byte order mark is skipped", "\u{FEFF}data:a\n\n", [data("a")]),
        EventStreamCase("only one byte order mark is skipped", "\u{FEFF}\u{FEFF}data:a\n\ndata:b\n\n", [data("b")]),
        EventStreamCase(
            "a byte order mark later on is part of a name", "data:a\n\n\u{FEFF}data:b\n\ndata:c\n\n",
            [data("a"), data("c")]),
        EventStreamCase("a byte order mark alone", "\u{FEFF}", []),
        EventStreamCase("a byte order mark before a blank line", "\u{FEFF}\ndata:a\n\n", [data("a")]),
        EventStreamCase("half a byte order mark", [0xEF, 0xBB] + Array("data:a\n\ndata:b\n\n".utf8), [data("b")]),
    ]

    static let dataCases: [EventStreamCase] = [
        EventStreamCase("data without a value is an empty line", "data:\n\n", [data("")]),
        EventStreamCase("data without a colon is an empty line", "data\n\n", [data("")]),
        EventStreamCase("two empty lines are a line feed", "data\ndata:\n\n", [data("\n")]),
        EventStreamCase(
            "each kind of emptiness", "data:\n\ndata\ndata\n\ndata:test\n\n", [data(""), data("\n"), data("test")]),
        EventStreamCase("lines are joined", "data:1\ndata:2\ndata:\ndata:4\n\n", [data("1\n2\n\n4")]),
        EventStreamCase("one trailing line feed is removed", "data:1\ndata:\ndata:\n\n", [data("1\n\n")]),
        EventStreamCase(
            "no data is no event", "event:x\n\nretry:1\n\nid\n\n:\n\ndata:a\n\n", [data("a")],
            reconnectionTime: .milliseconds(1)),
        EventStreamCase(
            "one leading space is removed", "data: a\ndata:  b\ndata:\tc\ndata: \n\n", [data("a\n b\n\tc\n")]),
        EventStreamCase("trailing space stays", "data: a \n\n", [data("a ")]),
        EventStreamCase("colons are data", "data::a:b\n\ndata: :\n\n", [data(":a:b"), data(":")]),
        EventStreamCase("NUL is data", "data:a\0b\ndata:\0\n\n", [data("a\0b\n\0")]),
        EventStreamCase(
            "comments are nothing",
            ":\n: a\n:data:lost\ndata:1\r:\0\n:\r\ndata:2\n:" + String(repeating: "x", count: 300) + "\rdata:3\n\n",
            [data("1\n2\n3")]),
        EventStreamCase("a comment ends no event", "data:1\n:\ndata:2\n\n", [data("1\n2")]),
        EventStreamCase(
            "names are exact",
            "data:a\n data:b\nData:c\nDATA:d\ndata :e\ndatas:f\ndat:g\nda-ta:h\ndata\0:i\n\0data:j\ndata_:k\ndatä:l\ndata:m\n\n",
            [data("a\nm")]),
        EventStreamCase(
            "unknown fields are nothing", "data:a\nfoo:bar\nfoo\n foo\nfoo:\ncomment: x\ndata:b\n\n", [data("a\nb")]),
        EventStreamCase("text of all scripts", "data:ok…é😀\n\n", [data("ok…é😀")]),
        EventStreamCase(
            "malformed UTF-8 is replaced",
            [UInt8]("data:".utf8) + [0x61, 0xFF, 0xE2, 0x82, 0x62, 0xC3] + [UInt8]("\ndata:\n\n".utf8),
            [data("a\u{FFFD}\u{FFFD}b\u{FFFD}\n")]),
        EventStreamCase(
            "UTF-8 only, whatever it looks like", [0xFF, 0xFE] + [UInt8]("data:a\n\ndata:b\n\n".utf8), [data("b")]),
    ]

    static let fieldCases: [EventStreamCase] = [
        EventStreamCase(
            "an event has a type", "event:test\ndata:x\n\ndata:y\n\n",
            [
                ServerSentEvent(event: "test", data: "x"), data("y"),
            ]),
        EventStreamCase(
            "an empty type is message", "event:\ndata:x\n\nevent\ndata:y\n\nevent: \ndata:z\n\n",
            [
                data("x"), data("y"), data("z"),
            ]),
        EventStreamCase(
            "the last type counts", "event:a\ndata:x\nevent:b\n\n", [ServerSentEvent(event: "b", data: "x")]),
        EventStreamCase("a type without data is forgotten", "event:a\n\ndata:x\n\n", [data("x")]),
        EventStreamCase(
            "a type keeps its spaces but one", "event:  a \ndata:x\n\n", [ServerSentEvent(event: " a ", data: "x")]),
        EventStreamCase(
            "the ID stays", "id:1\ndata:a\n\ndata:b\n\nid:2\ndata:c\n\ndata:d\n\n",
            [
                ServerSentEvent(data: "a", id: "1"), ServerSentEvent(data: "b", id: "1"),
                ServerSentEvent(data: "c", id: "2"), ServerSentEvent(data: "d", id: "2"),
            ], lastEventID: "2"),
        EventStreamCase(
            "an empty ID takes it back", "id:1\ndata:a\n\nid:\ndata:b\n\ndata:c\n\n",
            [
                ServerSentEvent(data: "a", id: "1"), data("b"), data("c"),
            ]),
        EventStreamCase(
            "an ID without a colon takes it back", "id:1\ndata:a\n\nid\ndata:b\n\ndata:c\n\n",
            [
                ServerSentEvent(data: "a", id: "1"), data("b"), data("c"),
            ]),
        EventStreamCase(
            "an ID counts without data", "id:7\n\ndata:a\n\n", [ServerSentEvent(data: "a", id: "7")], lastEventID: "7"),
        EventStreamCase(
            "an ID may follow the data", "data:a\nid:7\n\n", [ServerSentEvent(data: "a", id: "7")], lastEventID: "7"),
        EventStreamCase(
            "the last ID counts", "id:1\nid:2\ndata:a\n\n", [ServerSentEvent(data: "a", id: "2")], lastEventID: "2"),
        EventStreamCase(
            "an ID of any script", "id: …é\ndata:a\n\n", [ServerSentEvent(data: "a", id: "…é")], lastEventID: "…é"),
        EventStreamCase(
            "an ID with a NUL is none",
            "id:1\ndata:a\n\nid:\0\ndata:b\n\nid:x\0\ndata:c\n\nid:\0x\ndata:d\n\nid: \0\ndata:e\n\nid:x\0x\n\ndata:f\n\n",
            ["a", "b", "c", "d", "e", "f"].map { ServerSentEvent(data: $0, id: "1") }, lastEventID: "1"),
        EventStreamCase(
            "a reconnection time", "retry:3000\ndata:x\n\ndata:y\n\n",
            [
                ServerSentEvent(data: "x", retry: .seconds(3)), data("y"),
            ], reconnectionTime: .seconds(3)),
        EventStreamCase("a reconnection time counts at once", "retry: 03\n", [], reconnectionTime: .milliseconds(3)),
        EventStreamCase(
            "no time at all", "retry:0\ndata:x\n\n", [ServerSentEvent(data: "x", retry: .zero)], reconnectionTime: .zero
        ),
        EventStreamCase(
            "the last time counts", "retry:1\nretry:2\ndata:x\n\n",
            [
                ServerSentEvent(data: "x", retry: .milliseconds(2))
            ], reconnectionTime: .milliseconds(2)),
        EventStreamCase(
            "a bogus time does not count",
            "retry:5\n\nretry:5x\nretry:x\nretry:-1\nretry:+1\nretry:1.5\nretry:1 \nretry:  1\nretry:0x10\nretry:１\nretry:1e3\ndata:x\n\n",
            [data("x")], reconnectionTime: .milliseconds(5)),
        EventStreamCase(
            "an empty time does not count", "retry:5\n\nretry\nretry:\nretry: \ndata:x\n\n", [data("x")],
            reconnectionTime: .milliseconds(5)),
        EventStreamCase(
            "a time beyond all numbers does not count", "retry:99999999999999999999\ndata:x\n\n", [data("x")]),
        EventStreamCase(
            "a time without data is not the next event's", "retry:5\n\ndata:x\n\n", [data("x")],
            reconnectionTime: .milliseconds(5)),
    ]

    @Test(arguments: lineCases)
    func `lines, line endings, byte order marks and incomplete events`(_ stream: EventStreamCase) throws {
        try Self.run(stream)
    }

    @Test(arguments: dataCases)
    func `data, comments and names`(_ stream: EventStreamCase) throws {
        try Self.run(stream)
    }

    @Test(arguments: fieldCases)
    func `types, IDs and reconnection times`(_ stream: EventStreamCase) throws {
        try Self.run(stream)
    }

    @Test func `Events without an ID have the last ID of the previous connection`() throws {
        try Self.run(
            EventStreamCase(
                "", "data:a\n\nid:2\n\ndata:b\n\n",
                [
                    ServerSentEvent(data: "a", id: "1"), ServerSentEvent(data: "b", id: "2"),
                ], lastEventID: "2"), lastEventID: "1")
        try Self.run(EventStreamCase("", "data:a\n", [], lastEventID: "1"), lastEventID: "1")
    }

    @Test func `An event that ends with CR does not wait for the next byte`() throws {
        var parser = ServerSentEventParser()
        parser.append(Data("data:a\r\r".utf8))
        #expect(try parser.next() == Self.data("a"))
        parser.append(Data("\ndata:b\r\n\r".utf8))
        #expect(try parser.next() == Self.data("b"))
        #expect(try parser.next() == nil)
    }

    @Test func `An event of the maximum size is returned, and a larger event is a permanent error`() throws {
        var parser = ServerSentEventParser(limit: 12)
        parser.append(Data("data:12345\ndata:123456\n\n".utf8))
        #expect(try parser.next() == Self.data("12345\n123456"))
        parser.append(Data("data:12345\ndata:1234567\n\ndata:1\n\n".utf8))
        for _ in 0..<2 {
            let error = try #require(throws: RequestError.self) { try parser.next() }
            #expect(error.kind == .invalidResponse(.bodyTooLarge(limit: 12)))
            #expect(error.detail?.contains("an event") == true)
            parser.append(Data("data:1\n\n".utf8))
        }
    }

    @Test(arguments: ["data:12345678", ":123456789012", "id:1234567890\0", "abcdefghijklm", "\n\ndata:12345678\n"])
    func `a line beyond the limit is an error`(_ text: String) throws {
        for chunks in Chunking.everyWay(text) {
            var parser = ServerSentEventParser(limit: 12)
            let error = try #require(throws: RequestError.self) {
                for chunk in chunks {
                    parser.append(chunk)
                    while try parser.next() != nil {}
                }
            }
            #expect(error.kind == .invalidResponse(.bodyTooLarge(limit: 12)))
            #expect(error.detail?.contains("a line") == true)
        }
    }

    @Test func `Endless empty data does not grow without a limit`() throws {
        var parser = ServerSentEventParser(limit: 1000)
        parser.append(Data(String(repeating: "data\n", count: 2000).utf8))
        #expect(throws: RequestError.self) { try parser.next() }
    }

    @Test func `Data is decoded`() throws {
        #expect(try ServerSentEvent(data: "[1, 2]").decodeData(as: [Int].self) == [1, 2])
        let error = try #require(throws: RequestError.self) {
            try ServerSentEvent(event: "sum", data: "x").decodeData(as: [Int].self)
        }
        #expect(error.kind == .serialization(.decodingFailed))
        #expect(error.underlying is DecodingError)
        #expect(error.detail?.contains("sum") == true)
    }
}
