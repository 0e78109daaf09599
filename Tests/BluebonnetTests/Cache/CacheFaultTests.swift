import BluebonnetTesting
import Foundation
import Glibc
import Testing

@testable import Bluebonnet

/// Failing file systems: a response that should be replaced or removed is no longer used.
@Suite(.timeLimit(.minutes(10))) struct CacheFaultTests {
    /// A scene whose server counts its responses to GET, of which the second is larger, and responds with 204 to other methods.
    private static func scene(_ directory: URL, memory: Int = 16 << 20, begin: Int = 0) -> CacheTestSession {
        let count = Locked(begin)
        return CacheTestSession(memoryCapacity: memory, directory: directory) { request in
            guard request.method == .get else { return .response(status: 204) }
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .text(
                "\(number)" + String(repeating: ".", count: number == 2 ? 60_000 : 20_000),
                headers: ["Cache-Control": "max-age=600"])
        }
    }

    private static func number(_ answer: CacheAnswer) -> Int? { answer.text.flatMap { Int($0.prefix { $0 != "." }) } }

    // MARK: Writing

    @Test(arguments: [0, 16 << 20])
    func `a full disk: what could not be replaced is not the answer, here or in the next process`(memory: Int)
        async throws
    {
        let directory = try TestDirectory()
        // Without the right to mount, there is no small disk.
        guard directory.mountSmallDisk() else { return }
        let scene = Self.scene(directory.url, memory: memory)
        #expect(Self.number(await scene.answer()) == 1)
        try CacheFiles.fill(directory)
        #expect(Self.number(await scene.answer(policy: .reloadIgnoringCache)) == 2)
        #expect(scene.cache.statistics.diskFailures > 0)
        let next = await scene.answer()
        #expect(Self.number(next) == (memory > 0 ? 2 : 3))
        let other = Self.scene(directory.url, begin: 10)
        // The second response needs more room than the first response occupied; the third needs as much.
        #expect(Self.number(await other.answer(policy: .returnCacheElseLoad)) == (memory > 0 ? 11 : 3))
    }

    @Test(arguments: [false, true])
    func `a file that cannot be replaced is not used as the response`(isReadOnly: Bool) async throws {
        let directory = try TestDirectory()
        let scene = Self.scene(directory.url, memory: 0)
        _ = await scene.answer()
        let name = try CacheFiles.only(in: directory)
        guard CacheFiles.pin(directory.path(name), readOnly: isReadOnly) else { return }
        defer { CacheFiles.unpin(directory.path(name)) }
        #expect(Self.number(await scene.answer(policy: .reloadIgnoringCache)) == 2)
        #expect(Self.number(await scene.answer()) != 1)
        #expect(Self.number(await Self.scene(directory.url, begin: 10).answer()) == 11)
        #expect(scene.cache.statistics.diskFailures > 0)
    }

    // MARK: Forgetting

    enum Removal: CaseIterable, Sendable {
        case delete, removeURL, removeAll

        func callAsFunction(_ scene: CacheTestSession) async {
            switch self {
            case .delete: #expect(await scene.answer(method: .delete).status == 204)
            case .removeURL: await scene.cache.remove(for: scene.url())
            case .removeAll: await scene.cache.removeAll()
            }
        }
    }

    @Test(arguments: Removal.allCases, [0, 16 << 20])
    func `§4.4: what a read-only file system keeps is not answered`(_ forget: Removal, memory: Int) async throws {
        let directory = try TestDirectory()
        let scene = Self.scene(directory.url, memory: memory)
        #expect(Self.number(await scene.answer()) == 1)
        try directory.makeReadOnly()
        defer { directory.makeWritable() }
        await forget(scene)
        #expect(directory.files.count == 1, "it is still there")
        #expect(scene.cache.statistics.diskFailures > 0)
        #expect(Self.number(await scene.answer()) == 2)
        #expect(Self.number(await Self.scene(directory.url, begin: 10).answer(policy: .returnCacheElseLoad)) == 11)
        // Nor when it can be written again, in this process.
        directory.makeWritable()
        #expect(Self.number(await Self.scene(directory.url, begin: 20).answer(policy: .returnCacheElseLoad)) == 21)
    }

    @Test(arguments: Removal.allCases, [false, true])
    func `§4.4: what cannot be removed is not answered`(_ forget: Removal, isReadOnly: Bool) async throws {
        let directory = try TestDirectory()
        let scene = Self.scene(directory.url)
        _ = await scene.answer()
        let name = try CacheFiles.only(in: directory)
        guard CacheFiles.pin(directory.path(name), readOnly: isReadOnly) else { return }
        await forget(scene)
        let count = FileSystem.status(directory.path(name), followingLinks: false)?.size
        #expect(isReadOnly ? count != 0 : count == 0, "what can be cut off is, for later processes")
        #expect(scene.cache.statistics.diskFailures > 0)
        for begin in [10, 20] {
            let other = Self.scene(directory.url, memory: 0, begin: begin)
            #expect(Self.number(await other.answer(policy: .returnCacheElseLoad)) == begin + 1)
            if begin == 10 { CacheFiles.unpin(directory.path(name)) }
        }
    }

    @Test func `responses of a directory that cannot be listed are removed`() async throws {
        // Only a process without descriptors has such a one, if it is root's.
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            let store = DiskStore(directory: directory.path, capacity: 1 << 20)
            let request = try CacheFixtures.request()
            store.store(try CacheFixtures.stored([:]), for: request.key)
            try #require(store.candidates(for: request.key, url: request.url).count == 1)
            var limit = rlimit()
            unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let usual = limit.rlim_cur
            limit.rlim_cur = 3
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            store.removeAll()
            limit.rlim_cur = usual
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            try #require(store.failures > 0)
            try #require(store.candidates(for: request.key, url: request.url).isEmpty)
            let other = DiskStore(directory: directory.path, capacity: 1 << 20)
            try #require(other.candidates(for: request.key, url: request.url).isEmpty)
            // From now on, it is as it was.
            store.store(try CacheFixtures.stored([:]), for: request.key)
            try #require(store.candidates(for: request.key, url: request.url).count == 1)
        }
    }

    @Test func `a removed response is truncated if the directory is not writable`() async {
        guard geteuid() == 0 else { return }
        await #expect(processExitsWith: .success) {
            let directory = try TestDirectory()
            let path = directory.path as String
            unsafe chown(path, 65_534, 65_534)
            try #require(setgid(65_534) == 0 && setuid(65_534) == 0)
            let store = DiskStore(directory: path, capacity: 1 << 20)
            let request = try CacheFixtures.request()
            store.store(try CacheFixtures.stored([:]), for: request.key)
            try #require(store.candidates(for: request.key, url: request.url).count == 1)
            unsafe chmod(path, 0o555)
            store.removeAll(for: request.key)
            try #require(store.failures > 0)
            try #require(store.candidates(for: request.key, url: request.url).isEmpty)
            unsafe chmod(path, 0o700)
            let sizes = directory.files.compactMap {
                FileSystem.status(directory.path($0), followingLinks: false)?.size
            }
            try #require(sizes == [0], "a later process finds nothing in it")
        }
    }
}
