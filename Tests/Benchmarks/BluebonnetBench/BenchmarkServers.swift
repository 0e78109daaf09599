import BenchSupport
import CBenchMeter
import Foundation

/// The servers that the clients ask: nginx with and without TLS, the one that answers late, the sink of uploads,
/// and the one of WebSockets.
///
/// nginx is one process. The machine is shared by client and server: so the server takes one core at most, and is not
/// itself what varies.
final class BenchmarkServers {
    /// The file with the throw-away certificate of nginx, which is its own authority.
    let certificate: URL
    /// The files of the bodies.
    let files: BenchmarkFiles
    private let folder: URL
    private var processes: [Process] = []
    private var nginx: Process?
    private var bases: [BenchmarkCase.Origin: String] = [:]
    private var statusPort: Int32 = -1

    /// Starts the servers and waits until they answer.
    ///
    /// - Throws: ``BenchFailure`` when one does not start.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "bluebonnet-bench-\(UUID().uuidString)")
        certificate = folder.appending(path: "certificate.pem")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        files = try BenchmarkFiles(in: folder)
        do {
            try makeCertificate()
            try startNginx()
            bases[.late] = try start("BenchLateServer", [Person.json])
            bases[.sink] = try start("BenchSink", [])
            bases[.sockets] = try start("BenchSocketServer", [])
        } catch {
            stop()
            throw error
        }
    }

    /// Stops the servers and removes their files.
    func stop() {
        for process in processes where process.isRunning {
            process.terminate()
            process.waitUntilExit()
        }
        files.remove()
        try? FileManager.default.removeItem(at: folder)
    }

    /// The URL of a path on a server.
    func url(_ origin: BenchmarkCase.Origin, _ path: String) -> String {
        (bases[origin] ?? "") + path
    }

    /// How many connections nginx has accepted so far, that of this question included; -1 when it does not answer.
    var acceptedConnections: Int { bench_accepted_connections(statusPort) }

    /// Restricts nginx to the given cores, in the format of `taskset`.
    func keepNginx(on cores: String) throws {
        try ChildProcess.run("taskset", ["-cp", cores, "\(nginx?.processIdentifier ?? 0)"])
    }

    private func makeCertificate() throws {
        let key = folder.appending(path: "key.pem").path
        try ChildProcess.run("openssl", ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key])
        try ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-new", "-key", key, "-days", "2", "-out", certificate.path,
                "-subj", "/CN=Bluebonnet benchmark", "-addext", "subjectAltName=IP:127.0.0.1",
            ])
    }

    private func startNginx() throws {
        let (plain, tls, handshakes) = (bench_free_port(), bench_free_port(), bench_free_port())
        let configuration = folder.appending(path: "nginx.conf")
        let text = """
            \(getuid() == 0 ? "user root;" : "")
            daemon off;
            master_process off;
            pid \(folder.path)/nginx.pid;
            error_log stderr error;
            events { worker_connections 8192; }
            http {
                access_log off;
                client_body_temp_path \(folder.path)/body;
                proxy_temp_path \(folder.path)/proxy;
                fastcgi_temp_path \(folder.path)/fastcgi;
                uwsgi_temp_path \(folder.path)/uwsgi;
                scgi_temp_path \(folder.path)/scgi;
                keepalive_requests 1000000000;
                keepalive_timeout 600s;
                default_type application/json;
                ssl_certificate \(certificate.path);
                ssl_certificate_key \(folder.path)/key.pem;
                server {
                    listen 127.0.0.1:\(plain) backlog=4096;
                    listen 127.0.0.1:\(tls) ssl http2 backlog=4096;
                    location /small { return 200 '\(Person.json)'; }
                    location /cached {
                        add_header Cache-Control max-age=3600;
                        return 200 '\(Person.json)';
                    }
                    location /status { stub_status; }
                    location /files/ {
                        alias \(files.served.path)/;
                        sendfile on;
                        tcp_nopush on;
                    }
                }
                server {
                    listen 127.0.0.1:\(handshakes) ssl backlog=4096;
                    ssl_session_cache off;
                    ssl_session_tickets off;
                    location /small { return 200 '\(Person.json)'; }
                }
            }
            """
        try Data(text.utf8).write(to: configuration)
        nginx = try ChildProcess.start(
            "nginx", ["-p", folder.path, "-e", "stderr", "-c", configuration.path])
        guard let nginx else { return }
        processes.append(nginx)
        bases[.plain] = "http://127.0.0.1:\(plain)"
        bases[.tls] = "https://127.0.0.1:\(tls)"
        bases[.handshakes] = "https://127.0.0.1:\(handshakes)"
        statusPort = plain
        for _ in 0..<250 where nginx.isRunning {
            if acceptedConnections > 0 { return }
            // A program does not report when it begins to listen. Therefore, the connection is tried a limited number
            // of times.
            usleep(20_000)
        }
        throw BenchFailure("nginx does not answer")
    }

    /// Starts a server that writes its port to standard output, and returns its root.
    private func start(_ program: String, _ arguments: [String]) throws -> String {
        let pipe = Pipe()
        processes.append(try ChildProcess.start(program, arguments, output: pipe))
        let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchFailure("\(program) did not start")
        }
        return "http://127.0.0.1:\(port)"
    }
}
