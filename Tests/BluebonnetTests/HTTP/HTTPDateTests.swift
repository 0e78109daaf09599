import FoundationEssentials
import Testing

@testable import Bluebonnet

@Suite struct HTTPDateTests {
    /// 2025-06-15 12:00:00.
    private static let now = Date(timeIntervalSince1970: 1_749_988_800)

    @Test(
        arguments: [
            // The same second in the three formats.
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("  Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
            // Ends of days, months, years and centuries.
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Sun, 29 Feb 2004 23:59:59 GMT", 1_078_099_199),
            ("Thu, 31 Dec 1998 23:59:60 GMT", 915_148_800), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Mon, 01 Mar 1900 00:00:00 GMT", -2_203_891_200), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
            ("Wed Dec 31 23:59:59 2025", 1_767_225_599), ("Wed Jan  1 00:00:00 2025", 1_735_689_600),
            // The name of the day is not checked against the date.
            ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ] as [(String, Int)])
    func `a date is parsed in each of the three formats`(_ text: String, seconds: Int) {
        #expect(HTTPDate.parse(text, now: Self.now) == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test(
        arguments: [
            ("Tuesday, 01-Jan-75 00:00:00 GMT", 3_313_526_400), ("Sunday, 15-Jun-75 12:00:00 GMT", 3_327_825_600),
            ("Sunday, 15-Jun-75 12:00:01 GMT", 172_065_601), ("Thursday, 01-Jan-76 00:00:00 GMT", 189_302_400),
            ("Friday, 31-Dec-99 23:59:59 GMT", 946_684_799), ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
            ("Sunday, 29-Feb-04 00:00:00 GMT", 1_078_012_800),
        ] as [(String, Int)])
    func `a year of two digits is past when it would be more than 50 years ahead`(_ text: String, seconds: Int) {
        #expect(HTTPDate.parse(text, now: Self.now) == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test func `at the end of a century, a year of two digits may be in the next century`() throws {
        let now = try #require(HTTPDate.parse("Thu, 31 Dec 2099 23:59:59 GMT"))
        let parsed = try #require(HTTPDate.parse("Friday, 01-Jan-10 00:00:00 GMT", now: now))
        #expect(HTTPDate.format(parsed) == "Wed, 01 Jan 2110 00:00:00 GMT")
    }

    @Test(arguments: [
        "", "Sun", "0", "120", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 30 Feb 2024 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 GMT, x", "Sun, 06 Nov 1994 08:49:37 GMTX",
        "Sun, 06 Nov 1994 -8:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sunday, 6-Nov-94 08:49:37 GMT", "Sunday, 31-Feb-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov 06 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT", "Sun Nov  0 08:49:37 1994",
        "Sun Nov   6 08:49:37 1994",
        "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994\u{0} 08:49:37 GMT",
    ])
    func `text that is not an existing date is nil`(_ text: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == nil)
    }

    @Test(arguments: [
        1e300, -1e300, .infinity, -.infinity, .nan, .greatestFiniteMagnitude, 9.3e18, -62_167_219_200.5,
        253_402_300_799.5,
    ])
    func `an invalid current time does not trap`(_ seconds: Double) {
        let now = Date(timeIntervalSince1970: seconds)
        let parsed = HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: now)
        #expect(parsed.map { abs($0.timeIntervalSince1970) < 1e12 } ?? true)
        #expect(HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: now) != nil)
    }

    @Test func `a formatted date is parsed as the same time, across leap years and centuries`() {
        // A prime number of seconds, so that all times of day, days and months come up.
        for seconds in stride(from: -62_167_219_200.0, through: 253_402_300_799, by: 86_399_981) {
            let date = Date(timeIntervalSince1970: seconds)
            #expect(HTTPDate.parse(HTTPDate.format(date)) == date)
        }
    }
}
