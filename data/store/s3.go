package store

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"
)

const (
	partBytes  = 16 << 20 // of an upload in parts; S3 has at least 5 MiB
	partsAhead = 2        // of one upload at a time
	requests   = 16       // requests to a bucket at a time
)

// bucket is a Store in a bucket of S3, or of a server that speaks its protocol.
type bucket struct {
	core        minio.Core
	credentials *credentials.Credentials
	at          Location
	slots       chan struct{} // bounds the requests under way
	idle        func()        // ends connections that are not in use
}

// openS3 finds credentials in the environment, the shared file or the machine's instance, in
// this order. It makes no request to the bucket.
func openS3(l Location) (*bucket, error) {
	endpoint, err := url.Parse(l.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	secure := endpoint.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	if l.CA != "" {
		if transport.TLSClientConfig.RootCAs, err = readCA(l.CA); err != nil {
			return nil, fmt.Errorf("%s: %w", l, err)
		}
	}
	b := &bucket{at: l, slots: make(chan struct{}, requests), idle: transport.CloseIdleConnections}
	b.credentials = credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{},
	})
	client := &http.Client{Transport: transport, Timeout: instanceTimeout} // for credentials alone
	if v, err := b.credentials.GetWithContext(&credentials.CredContext{Client: client}); err != nil || v.AccessKeyID == "" {
		return nil, fmt.Errorf("%s: %w: there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write ~/.aws/credentials, or give the machine a role", l, ErrDenied)
	}
	region := l.Region
	if region == "" && l.Endpoint != awsEndpoint {
		region = "us-east-1" // what servers of one's own say
	}
	b.core.Client, err = minio.New(endpoint.Host, &minio.Options{
		Creds: b.credentials, Secure: secure, Transport: transport, Region: region,
		BucketLookup: minio.BucketLookupPath,
		MaxRetries:   1, // retry has its own pauses, and reads credentials again
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l, err)
	}
	return b, nil
}

// instanceTimeout is how long the metadata service of a cloud may take; elsewhere there is none.
const instanceTimeout = 5 * time.Second

func readCA(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return pool, nil
}

func (b *bucket) String() string { return b.at.Public() }

func (b *bucket) Close() error {
	b.idle()
	return nil
}

// name is the name in the bucket of a key.
func (b *bucket) name(key string) string {
	if b.at.Prefix == "" {
		return key
	}
	return b.at.Prefix + "/" + key
}

// ask makes a request, again while its error passes.
func (b *bucket) ask(ctx context.Context, key string, do func() error) error {
	err := retry(ctx, b.passes, func() error {
		select {
		case b.slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-b.slots }()
		return do()
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in %s: %w", key, b, judged(err))
}

// passes reports whether a request that failed may succeed the next time.
func (b *bucket) passes(err error) bool {
	if _, local := errors.AsType[unreadable](err); local || errors.Is(err, context.Canceled) || errors.Is(err, ErrRange) {
		return false
	}
	refused, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		_, certificate := errors.AsType[x509.UnknownAuthorityError](err)
		return !certificate // the connection broke, or none was made
	}
	switch refused.Code {
	case "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId":
		b.credentials.Expire() // there may be new ones
		return true
	case "ConditionalRequestConflict", "OperationAborted": // another put of the key is under way
		return true
	case "BadDigest", "XAmzContentSHA256Mismatch", "IncompleteBody", "RequestTimeout", "SlowDown", "InternalError":
		return true
	}
	switch refused.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// judged says what an answer of a server means.
func judged(err error) error {
	refused, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return err
	}
	switch {
	case refused.StatusCode == http.StatusPreconditionFailed || refused.Code == "PreconditionFailed":
		return ErrExists
	case refused.Code == "NoSuchBucket":
		return ErrGone
	case refused.Code == "InvalidRange":
		return ErrRange
	case refused.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case refused.StatusCode == http.StatusInsufficientStorage || refused.Code == "XMinioStorageFull" || refused.Code == "QuotaExceeded" || refused.Code == "XMinioAdminBucketQuotaExceeded":
		return fmt.Errorf("%w: %w", ErrFull, err)
	case refused.Code == "RequestTimeTooSkewed":
		return fmt.Errorf("%w: this machine's clock and the server's differ too much: %w", ErrDenied, err)
	case refused.StatusCode == http.StatusForbidden || refused.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%w: %w (%s)", ErrDenied, err, refused.Code)
	}
	return err
}

// sum is the SHA-256 of a part, which the signature of a request covers: the server refuses
// other bytes.
func sum(part *io.SectionReader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, part); err != nil {
		return "", unreadable{err}
	}
	_, err := part.Seek(0, io.SeekStart)
	return hex.EncodeToString(h.Sum(nil)), err
}

func (b *bucket) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if err := checkPut(key, size); err != nil {
		return err
	}
	if size > partBytes {
		return b.putParts(ctx, key, content, size)
	}
	return b.ask(ctx, key, func() error {
		part := io.NewSectionReader(content, 0, size)
		hash, err := sum(part)
		if err != nil {
			return err
		}
		_, err = b.core.PutObject(ctx, b.at.Bucket, b.name(key), part, size, "", hash, ifAbsent())
		return err
	})
}

func ifAbsent() minio.PutObjectOptions {
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true} // one hash of the whole, not of chunks
	o.SetMatchETagExcept("*")
	return o
}

// putParts uploads a large object in parts, each again where it fails. The object appears when
// they are put together.
func (b *bucket) putParts(ctx context.Context, key string, content io.ReaderAt, size int64) (err error) {
	if _, err := b.Stat(ctx, key); err == nil {
		return fmt.Errorf("%s in %s: %w", key, b, ErrExists) // before megabytes are sent for nothing
	}
	var upload string
	err = b.ask(ctx, key, func() error {
		upload, err = b.core.NewMultipartUpload(ctx, b.at.Bucket, b.name(key), minio.PutObjectOptions{ContentType: "application/octet-stream"})
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // Sweep removes what this cannot
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
			defer cancel()
			_ = b.core.AbortMultipartUpload(ctx, b.at.Bucket, b.name(key), upload)
		}
	}()
	parts := make([]minio.CompletePart, (size+partBytes-1)/partBytes)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(partsAhead)
	for i := range parts {
		group.Go(func() error {
			return b.ask(groupCtx, key, func() error {
				from := int64(i) * partBytes
				part := io.NewSectionReader(content, from, min(partBytes, size-from))
				hash, err := sum(part)
				if err != nil {
					return err
				}
				done, err := b.core.PutObjectPart(groupCtx, b.at.Bucket, b.name(key), upload, i+1, part, part.Size(), minio.PutObjectPartOptions{Sha256Hex: hash, DisableContentSha256: true})
				parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: done.ETag}
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.ask(ctx, key, func() error {
		_, err := b.core.CompleteMultipartUpload(ctx, b.at.Bucket, b.name(key), upload, parts, ifAbsent())
		return err
	})
}

// abortTimeout is how long a put that has failed takes to remove its parts.
const abortTimeout = 5 * time.Second

func (b *bucket) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkGet(key, offset, length); err != nil {
		return nil, err
	}
	if length == 0 { // no request asks for nothing
		return getNothing(ctx, b, key, offset)
	}
	var body io.ReadCloser
	err := b.ask(ctx, key, func() error {
		var o minio.GetObjectOptions
		if err := o.SetRange(offset, offset+length-1); err != nil {
			return err
		}
		from, info, _, err := b.core.GetObject(ctx, b.at.Bucket, b.name(key), o)
		if err != nil {
			return err
		}
		if info.Size != length { // a server that knows no ranges, or a shorter object
			from.Close()
			return fmt.Errorf("%w: the server has %d of %d bytes from %d on", ErrRange, info.Size, length, offset)
		}
		body = from
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &exact{body, length}, nil
}

// getNothing is an empty range of an object, which has to be there.
func getNothing(ctx context.Context, s Store, key string, offset int64) (io.ReadCloser, error) {
	o, err := s.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset > o.Bytes {
		return nil, fmt.Errorf("%s in %s: %w: it has %d, not %d", key, s, ErrRange, o.Bytes, offset)
	}
	return http.NoBody, nil
}

// exact ends with io.ErrUnexpectedEOF where bytes are missing.
type exact struct {
	io.ReadCloser
	left int64
}

func (e *exact) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.ReadCloser.Read(b[:min(int64(len(b)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *bucket) Stat(ctx context.Context, key string) (Object, error) {
	if err := CheckKey(key); err != nil {
		return Object{}, err
	}
	var info minio.ObjectInfo
	err := b.ask(ctx, key, func() (err error) {
		info, err = b.core.StatObject(ctx, b.at.Bucket, b.name(key), minio.StatObjectOptions{})
		if refused, ok := errors.AsType[minio.ErrorResponse](err); ok && refused.StatusCode < http.StatusInternalServerError {
			err = b.reason(ctx, key)
		}
		return err
	})
	return Object{key, info.Size, info.LastModified}, err
}

// reason asks by GET why a server refuses HEAD, whose answer has no body: is it the object that is
// missing or the bucket, or have the credentials expired?
func (b *bucket) reason(ctx context.Context, key string) error {
	var o minio.GetObjectOptions
	err := o.SetRange(0, 0)
	if err != nil {
		return err
	}
	body, _, _, err := b.core.GetObject(ctx, b.at.Bucket, b.name(key), o)
	if refused, ok := errors.AsType[minio.ErrorResponse](err); ok && refused.Code == "InvalidRange" { // it is empty
		return errAgain
	}
	if err != nil {
		return err
	}
	return errors.Join(errAgain, body.Close())
}

// errAgain: a server refused HEAD and not GET.
var errAgain = errors.New("the server refused to describe the object")

func (b *bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	if err := checkPrefix(prefix); err != nil {
		return nil, err
	}
	var all []Object
	err := b.ask(ctx, "the list of "+path.Join(prefix, "*"), func() error {
		ctx, cancel := context.WithCancel(ctx) // ends the listing where this returns early
		defer cancel()
		all = nil
		from := len(b.name(""))
		for info := range b.core.Client.ListObjects(ctx, b.at.Bucket, minio.ListObjectsOptions{Prefix: b.name(prefix), Recursive: true}) {
			if info.Err != nil {
				return info.Err
			}
			if len(all) == maxList {
				return fmt.Errorf("more than %d objects", maxList)
			}
			if len(info.Key) > from && CheckKey(info.Key[from:]) == nil { // others are not ours
				all = append(all, Object{info.Key[from:], info.Size, info.LastModified})
			}
		}
		return nil
	})
	return all, err
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	err := b.ask(ctx, key, func() error {
		return b.core.RemoveObject(ctx, b.at.Bucket, b.name(key), minio.RemoveObjectOptions{})
	})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

func (b *bucket) Sweep(ctx context.Context, prefix string, before time.Time) (puts int, err error) {
	if err := checkPrefix(prefix); err != nil {
		return 0, err
	}
	err = b.ask(ctx, "the list of uploads", func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for u := range b.core.ListIncompleteUploads(ctx, b.at.Bucket, b.name(prefix), true) {
			if u.Err != nil {
				return u.Err
			}
			if !u.Initiated.Before(before) {
				continue
			}
			if err := b.core.AbortMultipartUpload(ctx, b.at.Bucket, u.Key, u.UploadID); err != nil {
				return err
			}
			puts++
		}
		return nil
	})
	return puts, err
}
