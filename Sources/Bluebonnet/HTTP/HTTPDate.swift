import FoundationEssentials

/// Parses the dates of HTTP fields (RFC 9110 §5.6.7).
///
/// The type implements the proleptic Gregorian calendar in UTC itself, so locales, time zones and calendars of the
/// system have no influence.
enum HTTPDate {
    /// Parses a date in one of the three formats that a recipient must accept.
    ///
    /// The formats are `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`, in any case (RFC 9111 §4.2). The name of the day must be valid, but need not match
    /// the date. A leap second (`:60`) is the same as the following second.
    ///
    /// - Parameters:
    ///   - text: The value of a field, or an element of it.
    ///   - now: The current time, which determines the century of a two-digit year. A date more than 50 years in the
    ///     future is treated as a date in the past.
    /// - Returns: The time, or `nil` if the text is not a valid date, such as February 30.
    static func parse(_ text: some StringProtocol, now: Date = Date()) -> Date? {
        var scanner = Scanner(bytes: text.trimmed.utf8.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 })
        let time: Date?
        // The long names come first, because "Sun" is a prefix of "Sunday".
        if scanner.name(of: longDays) != nil {
            time = scanner.rfc850(now: now)
        } else if scanner.name(of: shortDays) != nil {
            time = scanner.next == 0x2c ? scanner.imfFixdate() : scanner.asctime()
        } else {
            return nil
        }
        return scanner.isAtEnd ? time : nil
    }

    private static let shortDays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longDays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    // MARK: The calendar

    /// The range of the years from 0 to 9999, in seconds since 1970.
    static let range = -62_167_219_200.0...253_402_300_799.0

    /// Returns the number of days from 1970-01-01 to a date; `nil` if the date does not exist.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day >= 1, day <= lengths[month - 1] else { return nil }
        // If years begin in March, the leap day is the last day of a year. There are 719,468 days from year 0 to 1970.
        let marchYear = month > 2 ? year : year - 1
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Returns a time as servers send it: `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func format(_ date: Date) -> String {
        let seconds = Int(limited(date.timeIntervalSince1970).rounded(.down))
        let second = (seconds % 86_400 + 86_400) % 86_400
        let number = (seconds - second) / 86_400
        func start(_ year: Int, _ month: Int) -> Int { days(year, month, 1) ?? .max }
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let estimate = 1970 + Int((Double(number) / 365.2425).rounded(.down))
        let year = [estimate + 1, estimate].first { start($0, 1) <= number } ?? estimate - 1
        let month = (2...12).last { start(year, $0) <= number } ?? 1
        // The first of January 1970 was a Thursday.
        let name = shortDays[((number + 3) % 7 + 7) % 7]
        let clock = [second / 3600, second / 60 % 60, second % 60].map(padded).joined(separator: ":")
        let century = padded(year / 100) + padded(year % 100)
        return "\(name), \(padded(number - start(year, month) + 1)) \(months[month - 1]) \(century) \(clock) GMT"
    }

    /// Reads text in lower case from front to back.
    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        var next: UInt8? { position < bytes.count ? bytes[position] : nil }
        var isAtEnd: Bool { position == bytes.count }

        /// Parses the text after the name of the day in the preferred format.
        mutating func imfFixdate() -> Date? {
            guard take(", "), let day = number(2), take(" "), let month = month(), take(" "), let year = number(4),
                take(" "), let clock = clock(), take(" GMT")
            else { return nil }
            return HTTPDate.date(year, month, day, clock)
        }

        /// Parses the text after the name of the day in the format of RFC 850.
        mutating func rfc850(now: Date) -> Date? {
            guard take(", "), let day = number(2), take("-"), let month = month(), take("-"), let year = number(2),
                take(" "), let clock = clock(), take(" GMT")
            else { return nil }
            // Take the latest year with these two digits that is at most 50 years in the future.
            let present = 1970 + Int(HTTPDate.limited(now.timeIntervalSince1970) / 31_556_952)
            let candidate = present / 100 * 100 + year
            return [candidate + 100, candidate, candidate - 100].lazy
                .filter { HTTPDate.hasBegun($0 - 50, month, day, clock, at: now) }
                .compactMap { HTTPDate.date($0, month, day, clock) }.first
        }

        /// Parses the text after the name of the day in the format of C's `asctime`.
        mutating func asctime() -> Date? {
            guard take(" "), let month = month(), take(" ") else { return nil }
            guard let day = take(" ") ? number(1) : number(2), take(" "), let clock = clock(), take(" "),
                let year = number(4)
            else { return nil }
            return HTTPDate.date(year, month, day, clock)
        }

        /// Takes one of the names from the front and returns its index.
        mutating func name(of names: [String]) -> Int? {
            names.firstIndex { take($0) }
        }

        private mutating func month() -> Int? {
            name(of: HTTPDate.months).map { $0 + 1 }
        }

        /// Parses a time of day and returns the second of the day.
        private mutating func clock() -> Int? {
            guard let hour = number(2), hour < 24, take(":"), let minute = number(2), minute < 60, take(":"),
                let second = number(2), second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }

        private mutating func number(_ width: Int) -> Int? {
            guard position + width <= bytes.count else { return nil }
            var value = 0
            for byte in bytes[position..<(position + width)] {
                guard byte &- 0x30 < 10 else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            position += width
            return value
        }

        private mutating func take(_ text: String) -> Bool {
            guard bytes[position...].starts(with: text.utf8, by: { $0 == $1 | 0x20 }) else { return false }
            position += text.utf8.count
            return true
        }
    }

    /// Returns the time for a second of a day; `nil` if the day does not exist.
    static func date(_ year: Int, _ month: Int, _ day: Int, _ secondOfDay: Int) -> Date? {
        guard let days = days(year, month, day) else { return nil }
        return Date(timeIntervalSince1970: Double(days * 86_400 + secondOfDay))
    }

    /// Whether a time has passed; February 29 counts as March 1 in a year without a leap day.
    private static func hasBegun(_ year: Int, _ month: Int, _ day: Int, _ secondOfDay: Int, at now: Date) -> Bool {
        guard let time = date(year, month, day, secondOfDay) ?? date(year, 3, 1, 0) else { return false }
        return time.timeIntervalSince1970 <= limited(now.timeIntervalSince1970)
    }

    /// Clamps a time to the ``range``; NaN counts as 1970.
    private static func limited(_ seconds: Double) -> Double {
        seconds.isNaN ? 0 : min(max(seconds, range.lowerBound), range.upperBound)
    }
}
