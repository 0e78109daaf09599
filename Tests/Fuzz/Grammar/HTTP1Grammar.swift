/// Generates what a peer sends over HTTP/1.1 for an exchange.
struct HTTP1Grammar {
    let mark: ExchangeMark
    let families: Families
    /// Whether nothing may be sent that a client need not understand.
    let isTame: Bool

    /// A script for one request.
    func script(_ random: inout Random, spec: ResponseSpec) -> Script {
        let answer = ResponseGrammar(mark: mark, families: families).make(&random, spec: spec)
        var message = HTTP1Message(answer, isHead: spec.isHead)
        message.vary(&random)
        var script = Script("http/1.1 \(answer.label)", expectation: answer.expectation(spec), isClean: true)
        if !isTame, let mutation = message.mutate(&random, families: families) {
            script.label += ", " + mutation
            script.expectation = .anything
            script.isClean = false
        }
        var bytes = message.bytes
        if !isTame, families.has(.mutation), random.chance(6) {
            bytes = Corpus.answer(&random, mark: mark)
            script = Script("http/1.1 recorded")
        }
        if !isTame, families.has(.mutation), random.chance(25) {
            bytes = Mutator.mutate(bytes, &random)
            script.label += ", mutated"
            script.expectation = .anything
            script.isClean = false
        }
        if !families.has(.prevhead) { Self.unfoldFirst(&bytes) }
        deliver(bytes, message: message, spec: spec, into: &script, &random)
        return script
    }

    // MARK: Delivery

    private func deliver(
        _ bytes: [UInt8], message: HTTP1Message, spec: ResponseSpec, into script: inout Script, _ random: inout Random
    ) {
        if spec.hasBody, !random.chance(isTame ? 0 : 20) { script.steps.append(.awaitRequest) }
        if random.chance(10) { script.steps.append(.wait(milliseconds: random.pick([1, 5, 30, 120]))) }
        if !isTame, families.has(.cuts), random.chance(20) {
            cut(bytes, into: &script, message: message, &random)
            return
        }
        if bytes.count < 600, random.chance(spec.isSmall ? 0 : 6) {
            script.steps.append(.dribble(bytes, every: random.below(3)))
        } else {
            script.steps += pieces(bytes, &random)
        }
        if script.isClean, !message.endsByClose, families.has(.surplus), !isTame, random.chance(10) {
            surplus(into: &script, &random)
        }
        // What is not an answer by the rules leaves a connection on which nothing is certain any more.
        if message.endsByClose || !script.isClean {
            let isClosed = random.chance(80)
            script.steps.append(script.isClean ? .end : isClosed ? .close : .reset)
        }
    }

    private func pieces(_ bytes: [UInt8], _ random: inout Random) -> [Step] {
        var steps: [Step] = []
        var rest = bytes[...]
        for _ in 0..<random.pick([0, 0, 0, 1, 2, 6]) where rest.count > 1 {
            let count = random.chance(50) ? random.number(in: 1...min(200, rest.count)) : random.below(rest.count)
            steps.append(.send(Array(rest.prefix(count))))
            steps.append(.wait(milliseconds: random.pick([0, 1, 2, 15])))
            rest = rest.dropFirst(count)
        }
        return steps + [.send(Array(rest))]
    }

    /// Ends the answer somewhere by a FIN, a reset or a silence that is longer than the limits.
    private func cut(_ bytes: [UInt8], into script: inout Script, message: HTTP1Message, _ random: inout Random) {
        let place = random.chance(50) ? random.below(min(bytes.count, 400)) : random.below(bytes.count)
        script.steps.append(.send(Array(bytes.prefix(place))))
        switch random.below(10) {
        case 0..<4: script.steps.append(.close)
        case 4..<7: script.steps.append(.reset)
        case 7: script.steps += [.halfClose, .wait(milliseconds: 300), .close]
        default: script.steps += [.wait(milliseconds: 5000), .close]
        }
        script.label += ", cut at \(place) of \(bytes.count)"
        // A body that ends with the connection cannot be distinguished from a truncated one.
        let isComplete =
            message.endsByClose && place >= message.headLength || place >= bytes.count - message.dispensable
        script.expectation = script.isClean && !isComplete ? .failure : .anything
        script.isClean = false
    }

    /// Adds bytes after the end of the answer, at once or when the client has long had it.
    private func surplus(into script: inout Script, _ random: inout Random) {
        let evil = Array("HTTP/1.1 200 OK\r\nX-Evil: \(mark.text)\r\nContent-Length: 32\r\n\r\n\(mark.text)".utf8)
        let timeout = Array("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".utf8)
        let bytes = random.pick([evil, timeout, [13, 10], Array(mark.bytes.prefix(5)), random.bytes(20), evil + evil])
        if random.chance(60) { script.steps.append(.wait(milliseconds: random.pick([1, 10, 30, 80]))) }
        script.steps.append(.send(bytes))
        if random.chance(50) { script.steps += [.wait(milliseconds: random.pick([0, 5, 50])), .close] }
        script.label += ", surplus"
        script.isClean = false
    }

    /// Takes away what makes libcurl 7.88 use memory that it has freed: a first field line that begins with a space.
    static func unfoldFirst(_ bytes: inout [UInt8]) {
        // Any line that begins with HTTP may be treated as a status line after a random change.
        var index = 0
        var previousIsStatus = false
        var atStart = true
        while index < bytes.count {
            if atStart {
                if previousIsStatus, bytes[index] == 32 || bytes[index] == 9 { bytes[index] = 95 }
                let isBlank = bytes[index] == 10 || bytes[index] == 13
                previousIsStatus = isBlank ? previousIsStatus : startsStatus(bytes, at: index)
            }
            atStart = bytes[index] == 10
            index += 1
        }
    }

    private static func startsStatus(_ bytes: [UInt8], at index: Int) -> Bool {
        bytes[index...].starts(with: [72, 84, 84, 80])
    }
}
