import Testing

/// The events of a state machine in each of its situations, as a text.
///
/// A situation is a line of its own. The lines after it begin with spaces: an event, a colon and its result; `ignored:`
/// and the events that occur there and change nothing; `never:` and the events that do not occur there.
struct EventTable<Event: RawRepresentable & Hashable> where Event.RawValue == String {
    enum Row {
        case result(String)
        case ignored
        case never
    }

    private var rows: [String: [Event: Row]] = [:]

    init(_ text: String) {
        var situation = ""
        for line in text.split(separator: "\n") {
            guard line.hasPrefix(" "), let colon = line.firstIndex(of: ":") else {
                situation = String(line)
                continue
            }
            let (name, rest) = (String(line[..<colon].drop { $0 == " " }), line[colon...].dropFirst(2))
            switch name {
            case "ignored": for event in rest.split(separator: " ") { add(.ignored, String(event), in: situation) }
            case "never": for event in rest.split(separator: " ") { add(.never, String(event), in: situation) }
            default: add(.result(String(rest)), name, in: situation)
            }
        }
    }

    private mutating func add(_ row: Row, _ name: String, in situation: String) {
        guard let event = Event(rawValue: name) else {
            Issue.record("\(name) in \(situation) is no event")
            return
        }
        let earlier = rows[situation, default: [:]].updateValue(row, forKey: event)
        #expect(earlier == nil, "\(name) in \(situation) is there twice")
    }

    /// The row of each event in a situation.
    func rows(of situation: String) -> [Event: Row] { rows[situation] ?? [:] }
}
