package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ergoflow/ergoflow/coordinator/consensus"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/boltfile"
	"github.com/ergoflow/ergoflow/internal/trust"
)

// What one of several coordinators revokes counts at all. The file of each (trust.RevocationList)
// is what its connections obey, and what `ergoflow certs revoke` writes. Once a second each
// coordinator tells the one that leads what its file has and the ledger lacks. The leader enters it
// in the ledger, and each writes what the ledger has into its file. Nothing takes a revocation
// back, so lists only grow, and their union is right in every order.

// maxToldRevocations bounds how many serials, and how many identities, a coordinator tells at once,
// so that the answer fits into a message. The rest follows a second later.
const maxToldRevocations = 1000

// maxToldBytes bounds what is read of them: an identity has less than 300 bytes.
const maxToldBytes = 2 << 20

// revoked is what the ledger has: a key is a serial or an identity, its value the time at which it
// was revoked.
func (l *ledger) revoked() (r trust.Revocations, err error) {
	err = boltfile.Guard(func() error {
		return l.db.View(func(tx *bbolt.Tx) error {
			return each(tx.Bucket(bucketRevoked), func(key []byte, at time.Time) error { return addRevoked(&r, string(key), at) })
		})
	})
	if err != nil {
		return r, fmt.Errorf("%w: %s: revoked certificates: %w", ErrLedger, l.db.Path(), err)
	}
	return r, nil
}

func addRevoked(r *trust.Revocations, key string, at time.Time) error {
	if strings.Contains(key, ":") {
		id, err := trust.ParseIdentity(key)
		r.Identities = append(r.Identities, trust.RevokedIdentity{Identity: id, Time: at})
		return err
	}
	serial, err := trust.ParseSerial(key)
	r.Serials = append(r.Serials, trust.RevokedSerial{Serial: serial, Time: at})
	return err
}

// revoke enters in the ledger what it lacks.
func (l *ledger) revoke(r trust.Revocations) error {
	var list []change
	enter := func(key string, at time.Time) error {
		if err := addRevoked(new(trust.Revocations), key, at); err != nil {
			return err // it could not be read again, by any coordinator
		}
		c, err := set(bucketRevoked, []byte(key), at)
		list = append(list, c)
		return err
	}
	for _, s := range r.Serials {
		if err := enter(string(s.Serial), s.Time); err != nil {
			return err
		}
	}
	for _, i := range r.Identities {
		if err := enter(i.Identity.String(), i.Time); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return l.change(list)
}

// unshared is what the own list has and the ledger lacks.
func (s *security) unshared() (trust.Revocations, error) {
	own, err := s.revoked.Read()
	if err != nil {
		return own, err
	}
	entered, err := s.ledger.revoked()
	return own.Without(entered, maxToldRevocations), err
}

// tellRevocations is what unshared is to other coordinators; nothing where there is nothing.
func (s *security) tellRevocations() ([]byte, error) {
	rest, err := s.unshared()
	if err != nil || rest.Len() == 0 {
		return nil, err
	}
	return json.Marshal(rest)
}

// obeyRevocations writes what the ledger has into the own list.
func (s *security) obeyRevocations(ctx context.Context) error {
	if s == nil {
		return nil
	}
	entered, err := s.ledger.revoked()
	if err != nil {
		return err
	}
	own, err := s.revoked.Read()
	switch {
	case err != nil || entered.Without(own, 1).Len() == 0:
		return err
	case s.authority != nil:
		return s.authority.AddRevocations(ctx, entered)
	}
	return s.revoked.Add(entered)
}

// enterRevocations has the ledger say what this coordinator, which leads, and others have revoked.
func (k *coordinator) enterRevocations(ctx context.Context, others []*wire.Coordinator) error {
	if k.security == nil || k.term.Load() == nil {
		return nil
	}
	rest, err := k.security.unshared()
	failed := err
	if err == nil {
		failed = k.ledger.revoke(rest)
	}
	for _, c := range others {
		if len(c.GetRevoked()) == 0 {
			continue
		}
		told, err := readTold(c.GetRevoked())
		if err == nil {
			var entered trust.Revocations
			if entered, err = k.ledger.revoked(); err == nil { // two may tell the same
				err = k.ledger.revoke(told.Without(entered, maxToldRevocations))
			}
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("what %s has revoked: %w", c.GetAddress(), err))
		}
	}
	if errors.Is(failed, consensus.ErrDeposed) {
		return nil // the next leader enters it
	}
	return errors.Join(failed, k.security.obeyRevocations(ctx))
}

func readTold(text []byte) (r trust.Revocations, err error) {
	if len(text) > maxToldBytes {
		return r, fmt.Errorf("they have %d bytes, more than %d", len(text), maxToldBytes)
	}
	return r, json.Unmarshal(text, &r)
}
