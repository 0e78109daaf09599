import Foundation
import TestSupport

/// Runs scripts with bash, for tests of text that is meant for a shell.
enum Shell {
    /// Runs a script and returns its standard output.
    static func run(_ script: String, arguments: [String] = []) async throws -> Data {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bluebonnet-\(UUID().uuidString).sh")
        try Data(script.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await Subprocess.run("/bin/bash", [file.path] + arguments).output
    }

    /// Runs a command for curl in which the port is 1 against a server that accepts once.
    ///
    /// - Returns: The request that the server received.
    static func receive(from command: String) async throws -> String {
        let text = try await run(
            """
            python3 - "$0" <<'END'
            import re, socket, subprocess, sys
            script = open(sys.argv[1]).read().split("\\n#COMMAND\\n")[1]
            server = socket.create_server(("127.0.0.1", 0))
            command = script.replace("127.0.0.1:1/", "127.0.0.1:%d/" % server.getsockname()[1])
            client = subprocess.Popen(["bash", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            connection, _ = server.accept()
            received = b""
            while b"\\r\\n\\r\\n" not in received:
                received += connection.recv(65536)
            length = re.search(rb"content-length: (\\d+)", received, re.I)
            end = received.index(b"\\r\\n\\r\\n") + 4 + (int(length[1]) if length else 0)
            while len(received) < end:
                received += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok")
            connection.close()
            assert client.communicate(timeout=30)[0] == b"ok"
            sys.stdout.buffer.write(received)
            END
            exit
            #COMMAND
            \(command)
            """)
        return String(decoding: text, as: UTF8.self)
    }
}
