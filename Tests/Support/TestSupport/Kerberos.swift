/// The realm that `Tests/run` makes, in which `user` has tickets for Apache at `localhost`.
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

    private static func environment(tickets: String) throws -> [String: String] {
        let directory = try TestServers.variable("BLUEBONNET_KERBEROS")
        return ["KRB5_CONFIG": "\(directory)/krb5.conf", "KRB5CCNAME": "FILE:\(directory)/\(tickets)"]
    }
}
