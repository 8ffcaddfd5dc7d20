// Package trust says who is who between processes of a cluster: certificates, the authority
// that signs them, and tokens by which a process gets its first one. The connections of a
// secured cluster use them, and the commands `ergoflow certs`.
//
//	authority (a directory)                 process
//	  ca.pem        trusted CAs              Credentials: bundle, certificate, key
//	  ca-key.pem    key of the first           │ ServerConfig, ClientConfig
//	  issued.json   what was signed            ▼
//	  revoked.json  what no longer counts    TLS 1.3, both sides show a certificate
//
// Who a certificate belongs to is its only URI, ergoflow://CLUSTER/ROLE/NAME (Identity).
// Neither the subject nor host names count. A peer is accepted if a CA of the bundle signed its
// certificate, its cluster is the process's own, it is not revoked, and the caller allows its
// identity.
//
// A process without a certificate has a Token. It holds the hash of the CA's public key, so the
// process checks the coordinator before it sends the token's secret (JoinConfig).
//
// docs/formats.md has the files, docs/decisions/certificates.md the reasons.
package trust
