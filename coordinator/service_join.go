package coordinator

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ergoflow/ergoflow/coordinator/convert"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/internal/trust"
	"github.com/ergoflow/ergoflow/internal/trust/secure"
)

// Of refused tokens this many a second are answered, after a burst. Others do not wait: a
// stranger who tries tokens keeps nobody from joining.
const (
	refusalRate  = 5
	refusalBurst = 50
)

const maxJoinMessage = 64 << 10 // bytes of a message to the Join service

// joining implements wire.JoinServer.
type joining struct {
	wire.UnimplementedJoinServer
	security  *security
	addresses Addresses
	refused   func(from string, err error)
	failures  *rate.Limiter
}

func newJoining(s *security, a Addresses, refused func(string, error)) *joining {
	return &joining{security: s, addresses: a, refused: refused, failures: rate.NewLimiter(refusalRate, refusalBurst)}
}

// Admit implements wire.JoinServer. The token has lost a use before anything is signed.
func (j *joining) Admit(ctx context.Context, r *wire.AdmitRequest) (*wire.Certificates, error) {
	if j.security.authority == nil {
		return nil, errElsewhere
	}
	role, err := j.security.admit(r.GetToken())
	if errors.Is(err, trust.ErrRefused) || errors.Is(err, trust.ErrToken) {
		j.refused(caller(ctx), err)
		if late := j.failures.Wait(ctx); late != nil {
			return nil, status.Error(codes.ResourceExhausted, late.Error())
		}
		return nil, status.Error(codes.PermissionDenied, err.Error())
	}
	if err != nil {
		return nil, err
	}
	return j.security.sign(ctx, j.security.authority.SignNew, r.GetRequest(), role, r.GetName())
}

// Introduce implements wire.JoinServer.
func (j *joining) Introduce(context.Context, *wire.IntroduceRequest) (*wire.IntroduceReply, error) {
	return &wire.IntroduceReply{Control: j.addresses.Control, Gossip: j.addresses.Gossip, Keys: keysToWire(j.security.keys.now())}, nil
}

// admit takes a use of a token, and returns the role that it is for.
func (s *security) admit(text string) (role trust.Role, err error) {
	token, err := trust.ParseToken(text)
	if err != nil {
		return "", err
	}
	err = s.changeTokens(func(records []trust.Joining) (after []trust.Joining, err error) {
		after, role, err = trust.Admit(records, time.Now(), token.ID, token.Secret)
		return after, err
	})
	return role, err
}

// sign signs a request by a method of the authority.
func (s *security) sign(ctx context.Context, by func(context.Context, []byte, trust.Request, time.Time) (*x509.Certificate, error),
	csr []byte, role trust.Role, name string) (*wire.Certificates, error) {
	cert, err := by(ctx, csr, trust.Request{Role: role, Name: name, Life: s.life}, time.Now())
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	bundle, err := s.authority.Bundle(ctx)
	if err != nil {
		return nil, err
	}
	return &wire.Certificates{Certificate: trust.EncodeCertificates(cert), Bundle: trust.EncodeCertificates(bundle...)}, nil
}

var (
	errPlain     = status.Error(codes.FailedPrecondition, "this cluster speaks plain text: it has no certificates and no tokens")
	errElsewhere = status.Error(codes.FailedPrecondition, ErrElsewhere.Error())
)

// Renew implements wire.ControlServer: everybody renews the own certificate alone. Sessions of
// the identity live as long as the new one.
func (v *service) Renew(ctx context.Context, r *wire.RenewRequest) (*wire.Certificates, error) {
	id, ok := secure.Caller(ctx)
	switch {
	case v.security == nil || !ok:
		return nil, errPlain
	case v.security.authority == nil:
		return nil, errElsewhere
	}
	signed, err := v.security.sign(ctx, v.security.authority.Sign, r.GetRequest(), id.Role, id.Name)
	if err != nil {
		return nil, err
	}
	cert, err := trust.ParseCertificate(signed.Certificate)
	if err != nil {
		return nil, err
	}
	v.loop.do(func() { v.loop.renewed(id, cert) })
	return signed, nil
}

// Authorities implements wire.ControlServer.
func (v *service) Authorities(context.Context, *wire.AuthoritiesRequest) (*wire.AuthoritiesReply, error) {
	if v.security == nil {
		return nil, errPlain
	}
	return &wire.AuthoritiesReply{Bundle: trust.EncodeCertificates(v.security.own.Bundle()...)}, nil
}

// CreateToken implements wire.ControlServer.
func (v *service) CreateToken(_ context.Context, r *wire.CreateTokenRequest) (*wire.CreateTokenReply, error) {
	if v.security == nil {
		return nil, errPlain
	}
	life := time.Duration(min(r.GetSeconds(), maxTokenSeconds)) * time.Second
	text, err := v.security.createToken(trust.Role(convert.Clip(r.GetRole())), life, int(r.GetUses()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &wire.CreateTokenReply{Token: text, Join: v.join}, nil
}

// maxTokenSeconds keeps a life from overflowing; the longest life is shorter.
const maxTokenSeconds = 10 * 365 * 24 * 3600

// Tokens implements wire.ControlServer.
func (v *service) Tokens(context.Context, *wire.TokensRequest) (*wire.TokensReply, error) {
	if v.security == nil {
		return nil, errPlain
	}
	records := []trust.Joining{}
	if err := v.security.ledger.load(keyTokens, &records); err != nil {
		return nil, err
	}
	shown := make([]Token, len(records)) // never null in JSON
	for i, r := range records {
		shown[i] = Token{ID: r.ID, Role: r.Role, Created: r.Created, Expires: r.Expires, Uses: r.Uses, Revoked: r.Revoked}
	}
	b, _, err := finitejson.Marshal(shown, "")
	if err != nil {
		return nil, fmt.Errorf("encode tokens: %w", err)
	}
	return &wire.TokensReply{Json: b}, nil
}

// Token is a token as `ergoflow tokens list` shows it, without its secret.
type Token struct {
	ID      string     `json:"id"`
	Role    trust.Role `json:"role"`
	Created time.Time  `json:"created"`
	Expires time.Time  `json:"expires"`
	Uses    int        `json:"uses"` // that are left
	Revoked bool       `json:"revoked"`
}

// RevokeToken implements wire.ControlServer.
func (v *service) RevokeToken(_ context.Context, r *wire.RevokeTokenRequest) (*wire.RevokeTokenReply, error) {
	if v.security == nil {
		return nil, errPlain
	}
	err := v.security.changeTokens(func(records []trust.Joining) ([]trust.Joining, error) { return trust.RevokeToken(records, r.GetId()) })
	if err != nil {
		return nil, status.Error(codes.NotFound, err.Error())
	}
	return &wire.RevokeTokenReply{}, nil
}
