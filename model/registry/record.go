package registry

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/internal/boltfile"
)

// shelf is one model in a transaction.
type shelf struct {
	model  string
	bucket *bbolt.Bucket
}

// head is what a model keeps beside its versions. Its numbers only grow.
type head struct {
	Last  int    `json:"last"`  // number of the newest version
	Fence uint64 `json:"fence"` // of the newest lock
}

// holding is the version that an alias names.
type holding struct {
	Version int `json:"version"` // 0: the alias was removed
	Entry   int `json:"entry"`   // of the history that set it
}

var shelfBuckets = [][]byte{bucketVersions, bucketDetails, bucketConfigs, bucketKeys, bucketAliases, bucketHistory, bucketPromotions}

// find returns a model that exists.
func find(models *bbolt.Bucket, model string) (shelf, error) {
	if err := CheckModel(model); err != nil {
		return shelf{}, err
	}
	if b := models.Bucket([]byte(model)); b != nil {
		return checked(model, b)
	}
	return shelf{}, fmt.Errorf("model %q %w; %s", model, ErrNotFound, known(modelNames(models)))
}

// on makes a transaction of what it does on one model, which must exist.
func on(model string, do func(s shelf) error) func(models *bbolt.Bucket) error {
	return func(models *bbolt.Bucket) error {
		s, err := find(models, model)
		if err != nil {
			return err
		}
		return do(s)
	}
}

// obtain returns a model, and makes it where it is missing.
func obtain(models *bbolt.Bucket, model string) (shelf, error) {
	if err := CheckModel(model); err != nil {
		return shelf{}, err
	}
	if b := models.Bucket([]byte(model)); b != nil {
		return checked(model, b)
	}
	b, err := models.CreateBucket([]byte(model))
	if err != nil {
		return shelf{}, err
	}
	for _, name := range shelfBuckets {
		if _, err := b.CreateBucket(name); err != nil {
			return shelf{}, err
		}
	}
	s := shelf{model, b}
	return s, s.put(nil, keyHead, head{})
}

// checked refuses a model that lacks a part.
func checked(model string, b *bbolt.Bucket) (shelf, error) {
	for _, name := range shelfBuckets {
		if b.Bucket(name) == nil {
			return shelf{}, fmt.Errorf("%w: model %s has no %s", ErrCorrupt, model, name)
		}
	}
	return shelf{model, b}, nil
}

func modelNames(models *bbolt.Bucket) (names []string) {
	cursor := models.Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		names = append(names, string(k))
	}
	return names
}

// known lists names for an error.
func known(names []string) string {
	const most = 8
	switch n := len(names); {
	case n == 0:
		return "there is none"
	case n > most:
		return fmt.Sprintf("there are %s and %d more", strings.Join(names[:most], ", "), n-most)
	}
	return "there is " + strings.Join(names, ", ")
}

// in is a bucket of the model, or its own for nil.
func (s shelf) in(name []byte) *bbolt.Bucket {
	if name == nil {
		return s.bucket
	}
	return s.bucket.Bucket(name)
}

// put stores a record.
func (s shelf) put(bucket, key []byte, record any) error {
	encoded, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return s.in(bucket).Put(key, boltfile.Seal(encoded))
}

// get reads a record into v, and reports whether there is one.
func (s shelf) get(bucket, key []byte, v any) (bool, error) {
	value := s.in(bucket).Get(key)
	if value == nil {
		return false, nil
	}
	if err := decode(value, v); err != nil {
		return false, fmt.Errorf("model %s, %s %q: %w", s.model, bucket, key, err)
	}
	return true, nil
}

func decode(value []byte, v any) error {
	record, err := boltfile.Unseal(value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(record, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// head reads the model's numbers.
func (s shelf) head() (h head, err error) {
	found, err := s.get(nil, keyHead, &h)
	if err == nil && !found {
		err = fmt.Errorf("%w: model %s has no head", ErrCorrupt, s.model)
	}
	return h, err
}

// numbers are those of all versions, in order.
func (s shelf) numbers() (all []int) {
	cursor := s.in(bucketVersions).Cursor()
	for k, _ := cursor.First(); k != nil; k, _ = cursor.Next() {
		all = append(all, number(k))
	}
	return all
}

// span says for an error which versions there are.
func (s shelf) span() string {
	all := s.numbers()
	if len(all) == 0 {
		return "the model has none"
	}
	return fmt.Sprintf("it has %d, from %d to %d", len(all), all[0], all[len(all)-1])
}

// aliases are those that name a version, by the version's number.
func (s shelf) aliases() (map[int][]string, error) {
	named := make(map[int][]string)
	err := s.in(bucketAliases).ForEach(func(k, value []byte) error {
		var h holding
		if err := decode(value, &h); err != nil {
			return fmt.Errorf("model %s, alias %q: %w", s.model, k, err)
		}
		if h.Version > 0 {
			named[h.Version] = append(named[h.Version], string(k))
		}
		return nil
	})
	return named, err
}

// alias reads what an alias names.
func (s shelf) alias(alias string) (h holding, err error) {
	if err := checkAlias(alias); err != nil {
		return h, err
	}
	found, err := s.get(bucketAliases, []byte(alias), &h)
	if err != nil || found && h.Version > 0 {
		return h, err
	}
	named, err := s.aliases()
	if err != nil {
		return h, err
	}
	var names []string
	for _, aliases := range named {
		names = append(names, aliases...)
	}
	slices.Sort(names)
	return h, fmt.Errorf("alias %q of model %s %w; %s", alias, s.model, ErrNotFound, known(names))
}

// resolve returns the number that a reference of this model names.
func (s shelf) resolve(alias string, number int) (int, error) {
	if alias != "" {
		h, err := s.alias(alias)
		return h.Version, err
	}
	_, err := s.version(number)
	return number, err
}

// key is a number as a key; number is its inverse, 0 for other keys.
func key(number int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(number)) }

func number(key []byte) int {
	if len(key) != 8 {
		return 0
	}
	return int(binary.BigEndian.Uint64(key))
}

// has reports whether the model has a version.
func (s shelf) has(n int) bool { return s.in(bucketVersions).Get(key(n)) != nil }
