import CSystem
import Glibc
import Testing

@testable import Bluebonnet

/// Lives on a loop, to see where its code runs.
private actor Resident {
    let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    var isOnLoop: Bool { loop.isCurrentThread }
}

@Suite(.timeLimit(.minutes(10))) struct EventLoopTests {
    @Test func `An actor with the loop as its executor runs on the loop's thread`() async {
        let loop = EventLoop()
        #expect(!loop.isCurrentThread)
        #expect(await Resident(loop).isOnLoop)
    }

    @Test func `A task that prefers the loop runs on its thread, also after waiting`() async {
        let loop = EventLoop()
        await withTaskExecutorPreference(loop) {
            #expect(loop.isCurrentThread)
            await Task.yield()
            #expect(loop.isCurrentThread)
        }
    }

    @Test func `A loop without clients ends its thread, and later work starts it again`() async {
        let loop = EventLoop()
        for _ in 0..<200 {
            #expect(await Resident(loop).isOnLoop)
        }
    }

    @Test func `Work is done in the order in which one thread submits it`() async {
        let loop = EventLoop()
        let order = Locked([Int]())
        await withCheckedContinuation { continuation in
            for number in 0..<1000 { loop.submit { order.withLock { $0.append(number) } } }
            loop.submit { continuation.resume() }
        }
        #expect(order.withLock { $0 } == Array(0..<1000))
    }

    @Test func `Timers fire in the order of their times, and a cancelled timer does not fire`() async {
        let loop = EventLoop()
        let order = Locked([String]())
        loop.attach()
        await withCheckedContinuation { continuation in
            loop.submit {
                _ = loop.schedule(after: .milliseconds(20)) {
                    order.withLock { $0.append("late") }
                    continuation.resume()
                }
                let never = loop.schedule(after: .milliseconds(10)) { order.withLock { $0.append("never") } }
                _ = loop.schedule(after: .milliseconds(5)) { order.withLock { $0.append("early") } }
                loop.cancel(never)
            }
        }
        loop.detach()
        #expect(order.withLock { $0 } == ["early", "late"])
    }

    @Test func `A descriptor is reported when it is ready, and only while it is watched`() async {
        let loop = EventLoop()
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        let (reading, writing) = (ends[0], ends[1])
        let events = Locked([String]())
        loop.attach()
        await withCheckedContinuation { continuation in
            loop.submit {
                loop.watch(reading, for: .readable) { readiness in
                    events.withLock { $0.append(readiness.contains(.readable) ? "readable" : "?") }
                    var byte: UInt8 = 0
                    _ = unsafe read(reading, &byte, 1)
                    // An empty interest is not reported, though the second byte is there.
                    loop.setInterest([], of: reading)
                    _ = loop.schedule(after: .milliseconds(5)) {
                        loop.setInterest(.readable, of: reading)
                        loop.watch(reading, for: .readable) { _ in
                            loop.unwatch(reading)
                            events.withLock { $0.append("again") }
                            continuation.resume()
                        }
                    }
                }
                _ = unsafe write(writing, "ab", 2)
            }
        }
        loop.detach()
        close(reading)
        close(writing)
        #expect(events.withLock { $0 } == ["readable", "again"])
    }

    @Test func `A descriptor that the system will not watch is reported as failed`() async {
        let loop = EventLoop()
        // The kernel refuses to watch files.
        let file = unsafe open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0 && write(ends[1], "a", 1) == 1)
        let reading = ends[0]
        let reports = Locked([Readiness]())
        let turns = Locked(0)
        loop.attach()
        await withCheckedContinuation { continuation in
            loop.submit {
                loop.watch(file, for: .readable) { readiness in
                    loop.unwatch(file)
                    reports.withLock { $0.append(readiness) }
                }
                // Always ready: after its second turn, the file has had one, too.
                loop.watch(reading, for: .readable) { _ in
                    let turn = turns.withLock { turns in
                        turns += 1
                        return turns
                    }
                    guard turn == 2 else { return }
                    loop.unwatch(reading)
                    loop.unwatch(file)
                    continuation.resume()
                }
            }
        }
        loop.detach()
        for descriptor in ends + [file] { close(descriptor) }
        #expect(reports.withLock { $0 } == [[.error, .refused]])
    }

    /// So may a socket whose peer resets the connection just then.
    @Test func `A failed descriptor is not treated as a descriptor that the system will not watch`()
        async
    {
        let loop = EventLoop()
        var ends: [Int32] = [0, 0]
        #expect(unsafe pipe(&ends) == 0)
        // The pipe has no reader now.
        close(ends[0])
        let writing = ends[1]
        loop.attach()
        let readiness = await withCheckedContinuation { continuation in
            loop.submit {
                loop.watch(writing, for: .readable) { readiness in
                    loop.unwatch(writing)
                    continuation.resume(returning: readiness)
                }
            }
        }
        loop.detach()
        close(writing)
        #expect(readiness == .error)
    }
}
