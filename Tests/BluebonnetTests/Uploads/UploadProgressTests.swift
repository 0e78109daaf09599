import Bluebonnet
import BluebonnetTesting
import FoundationEssentials
import Testing

@Suite(.timeLimit(.minutes(10))) struct UploadProgressTests {
    @Test(arguments: BodyForm.allCases)
    func `the progress grows to the total and ends`(form: BodyForm) async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let directory = try TestDirectory()
        let session = TestHarness.session(startRequestsImmediately: false)
        let request = session.upload(try form.body(5_000_000, in: directory), to: server.url("/a"))
        let updates = request.uploadProgressUpdates(bufferingPolicy: .unbounded)
        #expect(request.uploadProgress.completed == 0)
        let task = request.serializingString()
        request.resume()
        var last: Int64 = 0
        var count = 0
        let whole = Int64(form.sent(5_000_000).count)
        for await progress in updates {
            #expect(progress.completed >= last)
            #expect(progress.completed <= whole)
            #expect(progress.total == (form.isMeasured ? whole : nil))
            last = progress.completed
            count += 1
        }
        #expect(last == whole)
        #expect(count > 1)
        #expect(try await task.value == "done")
        #expect(request.uploadProgress.completed == whole)
        #expect(request.uploadProgress.total == (form.isMeasured ? whole : nil))
        try await TestHarness.end(session, server)
    }

    @Test func `a late observer gets the latest progress`() async throws {
        let gate = Gate()
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let session = TestHarness.session()
        let pieces = Pieces(2, of: 1000) { number in if number == 1 { await gate.wait() } }
        let task = session.upload(pieces, length: 2000, to: server.url("/a")).serializingString()
        for await progress in task.uploadProgressUpdates() where progress.completed == 1000 { break }
        var late = task.uploadProgressUpdates().makeAsyncIterator()
        #expect(await late.next()?.completed == 1000)
        gate.open()
        #expect(try await task.value == "done")
        var after: [TransferProgress] = []
        for await progress in task.uploadProgressUpdates() { after.append(progress) }
        #expect(after.map(\.completed) == [2000])
        #expect(after.map(\.total) == [2000])
        try await TestHarness.end(session, server)
    }

    @Test func `an empty body ends the updates, too`() async throws {
        let server = try await LocalServer { $0.fallback(.text("done")) }
        let session = TestHarness.session()
        for body in [RequestBody.data(Data()), .stream(Pieces(0, of: 1)), .stream(Pieces(0, of: 1), length: 0)] {
            let task = session.upload(body, to: server.url("/a")).serializingString()
            for await progress in task.uploadProgressUpdates() { #expect(progress.completed == 0) }
            #expect(try await task.value == "done")
        }
        try await TestHarness.end(session, server)
    }
}
