package gossip

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/memberlist"

	"github.com/ergoflow/ergoflow/coordinator/gossip/keys"
)

var (
	// ErrEncrypted: other members encrypt, and this process does not.
	ErrEncrypted = errors.New("the gossip is encrypted, and this process sends plain text")
	// ErrPlaintext: others send plain text, and this process encrypts.
	ErrPlaintext = errors.New("the gossip is plain text, and this process encrypts")
	// ErrWrongKey: others encrypt with a key that this process does not have.
	ErrWrongKey = errors.New("the gossip is encrypted with a key that this process does not have")
)

// maxKeys bounds the keys of a member: one, and during a rotation the next one.
const maxKeys = 2

func checkKeys(list []keys.Key) error {
	if len(list) == 0 || len(list) > maxKeys {
		return fmt.Errorf("%d keys for the gossip, not 1 to %d", len(list), maxKeys)
	}
	for _, k := range list {
		if len(k.Bytes()) != keys.Size {
			return fmt.Errorf("gossip: %w: %v", keys.ErrKey, k)
		}
	}
	return nil
}

// encrypt has a member of memberlist encrypt, and hear only those that do. Without keys it sends
// and hears plain text.
func encrypt(conf *memberlist.Config, list []keys.Key) error {
	if len(list) == 0 {
		return nil
	}
	if err := checkKeys(list); err != nil {
		return err
	}
	ring, err := memberlist.NewKeyring(bytesOf(list), list[0].Bytes())
	if err != nil {
		return err
	}
	conf.Keyring = ring
	return nil
}

func bytesOf(list []keys.Key) [][]byte {
	b := make([][]byte, len(list))
	for i, k := range list {
		b[i] = k.Bytes()
	}
	return b
}

// SetKeys changes the keys of a member that was started with keys: the first encrypts, all
// decrypt. During a rotation it is called at each pass, with old and new, new and old, and new;
// keys.Rotation says when. The messages of others go on being read, unless the change takes
// away the key that they encrypt with.
func (g *Gossip) SetKeys(list []keys.Key) error {
	if err := checkKeys(list); err != nil {
		return err
	}
	if g.ring == nil {
		return errors.New("the gossip was started in plain text: it takes no keys")
	}
	g.changing.Lock()
	defer g.changing.Unlock()
	// memberlist reads the ring's list of keys without a lock, and RemoveKey moves the keys
	// behind the removed one within that list. So only the last one is ever removed.
	want := bytesOf(list)
	if err := errors.Join(g.ring.AddKey(want[0]), g.ring.UseKey(want[0])); err != nil {
		return err
	}
	have := slices.Clone(g.ring.GetKeys())
	same := 0
	for same < min(len(have), len(want)) && bytes.Equal(have[same], want[same]) {
		same++
	}
	for i := len(have) - 1; i >= same; i-- {
		if err := g.ring.RemoveKey(have[i]); err != nil {
			return err
		}
	}
	for _, k := range want[same:] {
		if err := g.ring.AddKey(k); err != nil {
			return err
		}
	}
	return nil
}

// keyTrouble is what memberlist's text says of keys, or nil: its errors are only texts. An error
// that the other side has sent is told from that side's point of view.
func keyTrouble(text string) error {
	has := func(part string) bool { return strings.Contains(text, part) }
	const noKey, noCipher = "encryption is not configured", "remote state is not encrypted"
	remote := has("remote error")
	switch {
	case has(noKey) && !remote, has(noCipher) && remote:
		return ErrEncrypted
	case has(noCipher), has(noKey), has("unsupported encryption version"):
		return ErrPlaintext
	case has("no installed keys could decrypt"):
		return ErrWrongKey
	}
	return nil
}
