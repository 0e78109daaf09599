/// The realm that `Tests/run` creates, in which `user` has tickets for Apache at `localhost`.
public enum Kerberos {
    /// Returns the environment of a process that has the user's tickets.
    ///
    /// - Returns: The variables and their values.
    /// - Throws: ``TestServers/NotStarted`` when the tests were not started by `Tests/run`.
    public static func environment() throws -> [String: String] { try environment(tickets: "tickets") }

    /// Returns the environment of a process that has no tickets.
    ///
    /// - Returns: The variables and their values.
    /// - Throws: ``TestServers/NotStarted`` when the tests were not started by `Tests/run`.
    public static func environmentWithoutTickets() throws -> [String: String] { try environment(tickets: "missing") }

    /// Returns the environment of a process that has a ticket-granting ticket, but cannot reach the server for other
    /// tickets.
    ///
    /// - Returns: The variables and their values.
    /// - Throws: ``TestServers/NotStarted`` when the tests were not started by `Tests/run`.
    public static func environmentWithoutCenter() throws -> [String: String] {
        try environment(tickets: "first", configuration: "unreachable.conf")
    }

    private static func environment(
        tickets: String, configuration: String = "krb5.conf"
    ) throws -> [String: String] {
        let directory = try TestServers.variable("BLUEBONNET_KERBEROS")
        return ["KRB5_CONFIG": "\(directory)/\(configuration)", "KRB5CCNAME": "FILE:\(directory)/\(tickets)"]
    }
}
