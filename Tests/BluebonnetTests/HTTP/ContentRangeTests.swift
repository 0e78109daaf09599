import Testing

@testable import Bluebonnet

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-0/1", .bytes(first: 0, last: 0, total: 1)),
            ("bytes 42-1233/1234", .bytes(first: 42, last: 1233, total: 1234)),
            ("bytes 42-1233/*", .bytes(first: 42, last: 1233, total: nil)),
            ("BYTES  0-9/10", .bytes(first: 0, last: 9, total: 10)), ("bytes */0", .unsatisfied(total: 0)),
            (" bytes */1234 ", .unsatisfied(total: 1234)), ("bytes 000-009/010", .bytes(first: 0, last: 9, total: 10)),
            (
                "bytes 0-9223372036854775806/9223372036854775807",
                .bytes(first: 0, last: .max - 1, total: .max)
            ), ("bytes */9223372036854775807", .unsatisfied(total: .max)),
        ] as [(String, ContentRange)])
    func `a range of bytes is parsed`(_ text: String, range: ContentRange) {
        #expect(ContentRange(text) == range)
    }

    @Test(arguments: [
        "", "bytes", "bytes ", "0-1/2", "bytes=0-1/2", "bytes 0-1", "bytes 0/2", "bytes -1/2", "bytes 0-/2",
        "bytes -/2",
        "bytes 1-0/2", "bytes 0-2/2", "bytes 5-9/0", "bytes */*", "bytes */", "bytes /2", "bytes 0-1/", "bytes 0-1/x",
        "bytes 0x0-1/2", "bytes +0-1/2", "bytes 0--1/2", "bytes 0-1-2/3", "bytes 0-1/2/3", "bytes 0 - 1/2",
        "bytes 0-1/2, bytes 0-1/2", "items 0-1/2", "bytes 0-1/-2", "bytes ٠-١/٢",
        "bytes 0-9223372036854775807/*", "bytes 0-9223372036854775808/*", "bytes 0-1/9223372036854775808",
        "bytes 0-1/99999999999999999999999999", "bytes */18446744073709551616",
    ])
    func `an invalid, contradictory or too large range is nil`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }
}
