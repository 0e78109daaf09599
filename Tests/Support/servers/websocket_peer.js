// The server of websocket_peer.py with Node's "ws": websocket_peer.js SETTINGS; the parameters of "deflate" have the
// names of that package.

"use strict";

const fs = require("fs");
const http = require("http");
const https = require("https");
const { WebSocketServer } = require("ws");

const settings = JSON.parse(process.argv[2]);
const files = (settings.tls ?? []).map((name) => fs.readFileSync(name));
const server = files.length
    ? https.createServer({ cert: files[0], key: files[1], ca: files[2], requestCert: files.length > 2 })
    : http.createServer();
const sockets = new WebSocketServer({
    server,
    maxPayload: 0,
    perMessageDeflate: settings.deflate ?? true,
    handleProtocols: (offered) => (offered.has("chat") ? "chat" : false),
});

sockets.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.on("pong", (data) => socket.send(data.toString() === "payload" ? "ponged" : "wrong pong"));
    socket.on("message", (data, isBinary) => {
        const text = isBinary ? "" : data.toString();
        if (text === "close") socket.close(3001, "bye");
        else if (text === "abort") socket.terminate();
        else if (text === "many") for (let number = 0; number < 500; number++) socket.send(String(number));
        else if (text === "ping") socket.ping("payload");
        else socket.send(data, { binary: isBinary });
    });
});

if (settings.unix) server.listen(settings.unix, () => console.log("ready"));
else server.listen(0, "127.0.0.1", () => console.log(server.address().port));
