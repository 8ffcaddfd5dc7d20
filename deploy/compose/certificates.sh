#!/bin/sh
# Makes an authority for the NATS server of compose.yaml, and certificates for the server, the
# coordinator and the workers:
#   certificates.sh [DIRECTORY]
# Each has a directory, which its container mounts and whose files the user of the image can read.
# Other users of this machine cannot enter DIRECTORY. The authority's key signs only here: keep it
# elsewhere, or delete it.
set -eu
dir=${1:-$(dirname "$0")/certificates}
umask 077
mkdir "$dir"
cd "$dir"
trap '[ ! -e openssl.log ] || cat openssl.log >&2' EXIT # where a command fails
key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
openssl req -x509 $key -days 3650 -subj '/CN=ergoflow NATS' -keyout ca.key -out ca.pem 2> openssl.log
for name in nats coordinator worker; do
  mkdir $name
  openssl req $key -subj /CN=$name -keyout $name/key.pem -out $name/request.pem 2>> openssl.log
  printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth,clientAuth\n' $name |
    openssl x509 -req -in $name/request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 825 \
      -extfile /dev/stdin -out $name/cert.pem 2>> openssl.log
  rm $name/request.pem
  cp ca.pem $name/ca.pem
  chmod -R a+rX $name
done
rm openssl.log
