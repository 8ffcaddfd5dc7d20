package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// send posts an event, signed after Standard Webhooks (https://www.standardwebhooks.com):
//
//	webhook-id         the same for each attempt
//	webhook-timestamp  of the attempt, in seconds since 1970
//	webhook-signature  v1,base64(HMAC-SHA256(secret, id.timestamp.body))
func (w Webhook) send(ctx context.Context, p *poster, e Event, d *Delivery) error {
	secret, err := w.secret()
	if err != nil {
		return err
	}
	body, err := e.message()
	if err != nil {
		return err
	}
	id := e.id()
	return p.post(ctx, w.URL, body, func(now time.Time) http.Header {
		at := strconv.FormatInt(now.Unix(), 10)
		h := make(http.Header)
		h.Set("Content-Type", contentOfJSON)
		h.Set("Webhook-Id", id)
		h.Set("Webhook-Timestamp", at)
		h.Set("Webhook-Signature", "v1,"+sign(secret, id, at, body))
		return h
	}, d)
}

func sign(secret []byte, id, at string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// id names the event in webhooks. It has no dots, which separate the parts of what is signed.
func (e Event) id() string {
	switch {
	case e.ID == "":
		return "msg_" + rand.Text()
	case plainID.MatchString(e.ID):
		return "msg_" + e.ID
	}
	hash := sha256.Sum256([]byte(e.ID))
	return "msg_" + hex.EncodeToString(hash[:16])
}

const (
	secretPrefix  = "whsec_"
	maxSecretFile = 4 << 10 // bytes
)

var errSecret = errors.New("must be whsec_ and 24 to 64 bytes in base64, as `echo whsec_$(openssl rand -base64 32)` prints it")

// secret reads the secret, which no error contains.
func (w Webhook) secret() ([]byte, error) {
	text, from := os.Getenv(w.SecretEnv), "secret_env: $"+w.SecretEnv
	if w.SecretFile != "" {
		from = "secret_file: " + w.SecretFile
		file, err := os.Open(w.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("secret_file: %w", err)
		}
		defer file.Close()
		content, err := io.ReadAll(io.LimitReader(file, maxSecretFile+1))
		if err != nil {
			return nil, fmt.Errorf("secret_file: %w", err)
		}
		if len(content) > maxSecretFile {
			return nil, fmt.Errorf("%s: has more than %d bytes", from, maxSecretFile)
		}
		text = string(bytes.TrimSpace(content))
	} else if text == "" {
		return nil, fmt.Errorf("%s is not set", from)
	}
	encoded, found := strings.CutPrefix(text, secretPrefix)
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !found || len(secret) < 24 || len(secret) > 64 {
		return nil, fmt.Errorf("%s: %w", from, errSecret)
	}
	return secret, nil
}
