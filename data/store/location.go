package store

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The schemes of locations.
const (
	File = "file"
	NATS = "nats"
	S3   = "s3"
)

// Location says where shards are. It has no secrets, but for a password in Server.
type Location struct {
	Scheme string // File, NATS or S3
	Dir    string // of File: a directory

	Bucket string // of NATS and S3
	Prefix string // of S3: before every key, without '/' at its ends; may be empty

	Cluster string // of NATS and S3: name under which a cluster keeps its checkpoints; may be empty

	Replicas int    // of NATS: servers that keep each object
	Server   string // of NATS: URL; empty: that of the jobs
	Domain   string // of NATS: that of JetStream behind the server; empty: the server's own

	Endpoint string // of S3: URL
	Region   string // of S3
	CA       string // of S3: file of CAs for the endpoint's certificate; empty: the system's
}

// ErrLocation means that a text is no location.
var ErrLocation = errors.New("want a directory, file://DIR, nats://BUCKET[?replicas=N] or s3://BUCKET/PREFIX?endpoint=URL")

const (
	maxLocation = 4096 // bytes
	maxPrefix   = 512  // bytes; S3 allows 1024 of a key
	maxReplicas = 5    // of a NATS stream
	awsEndpoint = "https://s3.amazonaws.com"
)

var (
	s3Bucket   = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	natsBucket = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	domain     = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)
	region     = regexp.MustCompile(`^[a-z0-9-]{0,64}$`)
	cluster    = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)
)

// Parse reads a location: a directory, or a URL.
func Parse(text string) (Location, error) {
	l, err := parse(text)
	if err != nil {
		return Location{}, fmt.Errorf("store %.200q: %w", text, err)
	}
	return l, nil
}

func parse(text string) (Location, error) {
	if text == "" || len(text) > maxLocation || strings.ContainsRune(text, 0) {
		return Location{}, ErrLocation
	}
	scheme, _, isURL := strings.Cut(text, "://")
	if !isURL || strings.Contains(scheme, "/") {
		return Location{Scheme: File, Dir: text}, nil
	}
	if !slices.Contains([]string{File, NATS, S3}, scheme) {
		return Location{}, ErrLocation
	}
	u, err := url.Parse(text)
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	if err != nil {
		return Location{}, err
	}
	if u.User != nil {
		return Location{}, errors.New("a location has no name or password: it is shown in logs and sent to every worker")
	}
	if u.Fragment != "" || strings.HasSuffix(text, "#") {
		return Location{}, errors.New("write %23 for # in a name")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Location{}, err
	}
	l := Location{Scheme: scheme, Bucket: u.Host, Cluster: query.Get("cluster")}
	if !cluster.MatchString(l.Cluster) {
		return Location{}, fmt.Errorf("cluster %.80q: want 1 to 64 letters, digits, '-' and '_'", l.Cluster)
	}
	switch scheme {
	case File:
		err = l.parseFile(u, query)
	case NATS:
		err = l.parseNATS(u, query)
	case S3:
		err = l.parseS3(u, query)
	}
	return l, err
}

func (l *Location) parseFile(u *url.URL, query url.Values) error {
	if u.Host != "" && u.Host != "localhost" {
		return errors.New("file:// takes a path on this machine: file:///DIR")
	}
	if !filepath.IsAbs(u.Path) {
		return ErrLocation
	}
	l.Dir, l.Bucket = u.Path, ""
	return options(query)
}

func (l *Location) parseNATS(u *url.URL, query url.Values) error {
	if !natsBucket.MatchString(l.Bucket) || strings.Trim(u.Path, "/") != "" {
		return errors.New("want nats://BUCKET, a name of 1 to 64 letters, digits, '-' and '_'; --nats names the server")
	}
	l.Replicas, l.Server, l.Domain = 1, query.Get("server"), query.Get("domain")
	if !domain.MatchString(l.Domain) {
		return fmt.Errorf("domain %.80q: want letters, digits, '-' and '_'", l.Domain)
	}
	if n := query.Get("replicas"); n != "" {
		replicas, err := strconv.Atoi(n)
		if err != nil || replicas < 1 || replicas > maxReplicas {
			return fmt.Errorf("replicas is %.20q: must be from 1 to %d", n, maxReplicas)
		}
		l.Replicas = replicas
	}
	return options(query, "cluster", "domain", "replicas", "server")
}

func (l *Location) parseS3(u *url.URL, query url.Values) error {
	if !s3Bucket.MatchString(l.Bucket) {
		return errors.New("want s3://BUCKET/PREFIX, the bucket a name of 3 to 63 lower-case letters, digits, '-' and '.'")
	}
	l.Prefix = strings.Trim(u.Path, "/")
	if err := checkS3Prefix(l.Prefix); err != nil {
		return err
	}
	l.Endpoint, l.Region, l.CA = query.Get("endpoint"), query.Get("region"), query.Get("ca")
	if l.Endpoint == "" {
		l.Endpoint = awsEndpoint
	}
	if !region.MatchString(l.Region) {
		return fmt.Errorf("region %.80q: want lower-case letters, digits and '-'", l.Region)
	}
	e, err := url.Parse(l.Endpoint)
	if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || strings.Trim(e.Path, "/") != "" || e.RawQuery != "" {
		return fmt.Errorf("endpoint %.200q: want http://HOST:PORT or https://HOST:PORT", l.Endpoint)
	}
	if l.CA != "" && e.Scheme != "https" {
		return errors.New("ca is for an endpoint with https://")
	}
	return options(query, "cluster", "endpoint", "region", "ca")
}

// checkS3Prefix refuses what servers change, or cannot say in their XML. Everything else may be
// in a prefix.
func checkS3Prefix(prefix string) error {
	if len(prefix) > maxPrefix || !utf8.ValidString(prefix) {
		return fmt.Errorf("the prefix must be UTF-8 of at most %d bytes", maxPrefix)
	}
	if prefix == "" {
		return nil
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return errors.New("the prefix must not have empty parts, nor . or .. as parts")
		}
	}
	for _, r := range prefix {
		if unicode.IsControl(r) || r == '\\' || !unicode.IsPrint(r) {
			return fmt.Errorf("the prefix must not have the character %q", r)
		}
	}
	return nil
}

// options refuses options that there are not, and those that are there twice.
func options(query url.Values, known ...string) error {
	for name, values := range query {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no option %.40q", name)
		}
		if len(values) > 1 {
			return fmt.Errorf("the option %s is there twice", name)
		}
	}
	return nil
}

// legible undoes what a query need not escape.
var legible = strings.NewReplacer("%3A", ":", "%2F", "/")

// String is the text of a location, which Parse reads: for a directory its path.
func (l Location) String() string {
	query := make(url.Values)
	set := func(name, value, unless string) {
		if value != unless {
			query.Set(name, value)
		}
	}
	u := url.URL{Scheme: l.Scheme, Host: l.Bucket}
	set("cluster", l.Cluster, "")
	switch l.Scheme {
	case NATS:
		set("replicas", strconv.Itoa(l.Replicas), "1")
		set("server", l.Server, "")
		set("domain", l.Domain, "")
	case S3:
		if l.Prefix != "" {
			u.Path = "/" + l.Prefix
		}
		set("endpoint", l.Endpoint, awsEndpoint)
		set("region", l.Region, "")
		set("ca", l.CA, "")
	default:
		return l.Dir
	}
	u.RawQuery = legible.Replace(query.Encode())
	return u.String()
}

// Public is the text of a location for people, without the server's password.
func (l Location) Public() string {
	l.Server = ""
	return l.String()
}
