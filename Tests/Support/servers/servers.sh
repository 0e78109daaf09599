# shellcheck shell=bash
# Starts and stops the servers that the tests speak to. Sourced by Tests/run.
#
# `start_servers DIRECTORY PYTHON` exports a BLUEBONNET_ variable for each; TestServers.swift says what each one is.
# Everything listens on 127.0.0.1 and has its files and its log in the directory. `stop_sessions "${server_pids[@]}"`
# (sessions.sh) stops them.

servers_sources=$(dirname "${BASH_SOURCE[0]}")
server_pids=()
server_names=()
server_ports=()
declare -A ports=() # by the names in start_servers; a server may have several

# shellcheck source=Tests/Support/servers/certificates.sh
. "$servers_sources/certificates.sh"
# shellcheck source=Tests/Support/servers/chains.sh
. "$servers_sources/chains.sh"
# shellcheck source=Tests/Support/servers/proxies.sh
. "$servers_sources/proxies.sh"
# shellcheck source=Tests/Support/servers/kerberos.sh
. "$servers_sources/kerberos.sh"
# shellcheck source=Tests/Support/servers/revocation.sh
. "$servers_sources/revocation.sh"

# start_server NAME PORT COMMAND...: runs it in the background, its output in NAME.log.
start_server() {
    local name=$1 port=$2
    shift 2
    start_session "$servers_directory/logs/$name.log" "$@"
    server_pids+=($!)
    server_names+=("$name")
    server_ports+=("$port")
}

# Waits until every server accepts connections: 30 seconds at most, less when one of them has ended.
await_servers() {
    local index deadline=$((SECONDS + 30))
    for index in "${!server_pids[@]}"; do
        until (: <>"/dev/tcp/127.0.0.1/${server_ports[index]}") 2>/dev/null; do
            if ! kill -0 "${server_pids[index]}" 2>/dev/null || ((SECONDS >= deadline)); then
                echo "error: the test server ${server_names[index]} did not start; it says:" >&2
                tail -n 20 "$servers_directory/logs/${server_names[index]}.log" >&2
                return 1
            fi
            sleep 0.05
        done
    done
}

# make_documents DIRECTORY PYTHON: what nginx and nghttpd serve.
make_documents() {
    mkdir -p "$1/bytes" "$1/stored"
    printf '{"id": 1, "name": "Bluebonnet", "isPerennial": false}\n' >"$1/small.json"
    "$2" - "$1/bytes" <<'PROGRAM'
import pathlib, sys
pattern = bytes(range(251))
for size in (0, 1, 1024, 65536, 1048576, 16777216):
    (pathlib.Path(sys.argv[1]) / str(size)).write_bytes((pattern * (size // 251 + 1))[:size])
PROGRAM
    truncate -s 1G "$1/bytes/1073741824" # takes no room on the disk
}

start_nginx() {
    local directory=$servers_directory/nginx user="" ipv6=""
    mkdir -p "$directory/temp"
    ln -s "$servers_directory/htdocs" "$directory/htdocs"
    ln -s "$servers_directory/certificates" "$directory/certificates"
    cp "$servers_sources/nginx-tls.conf" "$directory/"
    [[ $EUID -ne 0 ]] || user="user root;" # its workers could not read the directory otherwise
    ! grep -q -s "^0\{31\}1 " /proc/net/if_inet6 || ipv6="listen [::1]:${ports[nginx]};"
    sed -e "s/@USER@/$user/" -e "s/@PLAIN@/${ports[nginx]}/" -e "s/@TLS@/${ports[nginx_tls]}/" \
        -e "s/@EXPIRED@/${ports[expired]}/" -e "s/@WRONG_HOST@/${ports[wrong_host]}/" \
        -e "s/@SELF_SIGNED@/${ports[self_signed]}/" -e "s/@UNTRUSTED@/${ports[untrusted]}/" \
        -e "s/@FEW_STREAMS@/${ports[nginx_few_streams]}/" \
        -e "s/@TLS12@/${ports[tls12]}/" -e "s/@TLS13@/${ports[tls13]}/" -e "s/@CLIENT_TLS@/${ports[client_tls]}/" \
        -e "s/@CLIENT_OPTIONAL@/${ports[client_optional]}/" \
        -e "s/@IPV6@/$ipv6/" -e "s|@SOCKET@|$directory/socket|" \
        "$servers_sources/nginx.conf" >"$directory/nginx.conf"
    start_server nginx "${ports[nginx]}" nginx -e stderr -p "$directory/" -c nginx.conf
}

# A server that ends the handshake if it does not like the client's certificate, or that there is none.
start_openssl() {
    local certificates=$servers_directory/certificates
    start_server openssl "${ports[tls_alert]}" openssl s_server -accept "127.0.0.1:${ports[tls_alert]}" -www -quiet \
        -cert "$certificates/named.pem" -key "$certificates/named.key" -CAfile "$certificates/ca.pem" \
        -Verify 2 -verify_return_error
}

start_nghttpd() {
    local options=(--address=127.0.0.1 --htdocs="$servers_directory/htdocs" --max-concurrent-streams=2000 --echo-upload)
    start_server nghttpd "${ports[nghttpd]}" nghttpd "${options[@]}" "${ports[nghttpd]}" \
        "$servers_directory/certificates/server.key" "$servers_directory/certificates/server.pem"
    start_server nghttpd-h2c "${ports[nghttpd_h2c]}" nghttpd "${options[@]}" --no-tls "${ports[nghttpd_h2c]}"
}

start_python_servers() {
    local python=$1 certificate=$servers_directory/certificates/server
    start_server httpbin "${ports[httpbin]}" "$python" -m gunicorn --bind "127.0.0.1:${ports[httpbin]}" \
        --workers 2 --threads 64 --worker-class gthread --keep-alive 300 --timeout 120 --graceful-timeout 1 \
        --limit-request-line 0 --limit-request-field_size 0 --backlog 4096 --worker-tmp-dir "$servers_directory" \
        --no-control-socket httpbin:app
    start_server httpbin-h2 "${ports[httpbin_h2]}" "$python" "$servers_sources/httpbin_h2.py" \
        "${ports[httpbin_h2]}" "$certificate.pem" "$certificate.key"
    start_server h2-origin "${ports[h2_origin]}" "$python" "$servers_sources/h2_origin.py" \
        "$certificate.pem" "$certificate.key" "${ports[h2_origin]}" "${ports[h2_one_stream]}"
    start_server h3-origin "${ports[h3_origin]}" "$python" "$servers_sources/h3_origin.py" \
        "$certificate.pem" "$certificate.key" "${ports[h3_origin]}"
    start_server doh "${ports[doh]}" "$python" "$servers_sources/doh.py" "${ports[doh]}" "$certificate.pem" "$certificate.key"
    # It makes servers when it is asked to, with the certificates of all of these.
    start_server recorder "${ports[recorder]}" "$python" "$servers_sources/recorder.py" "${ports[recorder]}" \
        "$servers_directory"
}

# Exports the addresses, for TestServers.swift.
export_servers() {
    export BLUEBONNET_HTTPBIN=http://127.0.0.1:${ports[httpbin]}
    export BLUEBONNET_HTTPBIN_H2=https://127.0.0.1:${ports[httpbin_h2]}
    export BLUEBONNET_NGINX=http://127.0.0.1:${ports[nginx]}
    export BLUEBONNET_NGINX_TLS=https://127.0.0.1:${ports[nginx_tls]}
    export BLUEBONNET_NGINX_FEW_STREAMS=https://127.0.0.1:${ports[nginx_few_streams]}
    export BLUEBONNET_NGHTTPD=https://127.0.0.1:${ports[nghttpd]}
    export BLUEBONNET_NGHTTPD_H2C=http://127.0.0.1:${ports[nghttpd_h2c]}
    export BLUEBONNET_H2_ORIGIN=https://127.0.0.1:${ports[h2_origin]}
    export BLUEBONNET_H2_ONE_STREAM=https://127.0.0.1:${ports[h2_one_stream]}
    export BLUEBONNET_H3_ORIGIN=https://127.0.0.1:${ports[h3_origin]}
    export BLUEBONNET_TLS_EXPIRED=https://127.0.0.1:${ports[expired]}
    export BLUEBONNET_TLS_WRONG_HOST=https://127.0.0.1:${ports[wrong_host]}
    export BLUEBONNET_TLS_SELF_SIGNED=https://127.0.0.1:${ports[self_signed]}
    export BLUEBONNET_TLS_UNTRUSTED=https://127.0.0.1:${ports[untrusted]}
    export BLUEBONNET_TLS_1_2=https://127.0.0.1:${ports[tls12]}
    export BLUEBONNET_TLS_1_3=https://127.0.0.1:${ports[tls13]}
    export BLUEBONNET_TLS_CLIENT=https://127.0.0.1:${ports[client_tls]}
    export BLUEBONNET_TLS_CLIENT_OPTIONAL=https://127.0.0.1:${ports[client_optional]}
    export BLUEBONNET_TLS_ALERT=https://127.0.0.1:${ports[tls_alert]}
    export BLUEBONNET_DOH=https://127.0.0.1:${ports[doh]}
    export BLUEBONNET_RECORDER=http://127.0.0.1:${ports[recorder]}
    export BLUEBONNET_NGINX_RATES_LOG=$servers_directory/nginx/rates.log
    export BLUEBONNET_NGINX_SOCKET=$servers_directory/nginx/socket
    export BLUEBONNET_CA_FILE=$servers_directory/certificates/ca.pem
    export BLUEBONNET_CERTIFICATES=$servers_directory/certificates
}

# start_servers DIRECTORY PYTHON
start_servers() {
    servers_directory=$1
    local python=$2 index
    local names=(httpbin httpbin_h2 nginx nginx_tls nginx_few_streams nghttpd nghttpd_h2c h2_origin
        h2_one_stream h3_origin expired wrong_host self_signed untrusted tls12 tls13 client_tls client_optional tls_alert
        tinyproxy tinyproxy_auth haproxy haproxy_client
        microsocks microsocks_auth socks_echo ntlm kdc apache apache_proxy_negotiate apache_proxy_digest
        staple ocsp ocsp_openssl recorder doh "${CHAINS[@]/#/chain-}")
    local free
    read -r -a free < <("$python" "$servers_sources/free_ports.py" "${#names[@]}")
    for index in "${!names[@]}"; do
        ports[${names[index]}]=${free[index]}
    done
    mkdir -p "$servers_directory/logs"
    make_certificates "$servers_directory/certificates"
    make_chains "$servers_directory/certificates"
    make_documents "$servers_directory/htdocs" "$python"
    start_nginx
    start_openssl
    start_nghttpd
    start_python_servers "$python"
    start_proxies "$python"
    start_kerberos
    start_revocation
    start_chains
    await_servers
    export_servers
    export_proxies
    export_chains
    export_kerberos
    export_revocation
}
