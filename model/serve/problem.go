package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/sampling/table"
)

// Problem is the body of every error, as RFC 9457 has it.
type Problem struct {
	Type   string              `json:"type,omitempty" format:"uri-reference" doc:"what kind of problem it is"`
	Title  string              `json:"title" doc:"the status in words"`
	Status int                 `json:"status" doc:"HTTP status"`
	Detail string              `json:"detail" doc:"what is wrong"`
	Hint   string              `json:"hint,omitempty" doc:"what to do"`
	Errors []*huma.ErrorDetail `json:"errors,omitempty" doc:"the fields that are wrong, each with its path in the body"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType implements huma.ContentTypeFilter: problems are JSON whatever the client accepts.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// sentence is the problem with its hint, in one line.
func (p *Problem) sentence() string {
	if p.Hint == "" {
		return p.Detail
	}
	return p.Detail + ": " + p.Hint
}

// problemOf is the problem in an error.
func problemOf(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) || errors.As(problem(err, ""), &p) {
		return p
	}
	return newProblem(http.StatusInternalServerError, err.Error())
}

func newProblem(status int, detail string, failures ...error) *Problem {
	p := &Problem{Title: http.StatusText(status), Status: status, Detail: detail}
	for _, err := range failures {
		if err == nil {
			continue
		}
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			p.Errors = append(p.Errors, detailer.ErrorDetail())
		} else {
			p.Errors = append(p.Errors, &huma.ErrorDetail{Message: err.Error()})
		}
	}
	if len(p.Errors) > 0 && detail == "validation failed" {
		p.Detail = "the request is not valid: " + p.Errors[0].Message
		if place := p.Errors[0].Location; place != "" {
			p.Detail = fmt.Sprintf("the request is not valid: %s: %s", place, p.Errors[0].Message)
		}
	}
	return p
}

// closedRequest is nginx's status of a request whose client has gone; nobody reads it.
const closedRequest = 499

// retryAfter is the seconds after which a busy server may be asked again.
const retryAfter = "1"

// problem is the answer to a request that failed with err; at is the path of the equation in
// the body, for errors that do not know it.
func problem(err error, at string) error {
	var field *fieldError
	var input *request.InputError
	var equation *request.EquationError
	var known *Problem
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &field):
		return located(err, field.place(), "")
	case errors.As(err, &input):
		return located(input.Err, "body"+at+"."+input.Input, "")
	case errors.As(err, &equation):
		place := "body" + at
		if equation.Input != "" {
			place += "." + equation.Input
		}
		return located(equation.Err, place, equation.Hint())
	case errors.Is(err, request.ErrNotInvariant):
		return located(err, "body.repair", "leave repair out")
	case errors.Is(err, request.ErrNoWeights):
		return located(err, "body.repair", "give repair auto")
	case errors.Is(err, simulate.ErrDiverged):
		return located(fmt.Errorf("the repair's chains diverged: %w", err), "body"+at, "give fewer steps, or repair none")
	case errors.Is(err, request.ErrUnlearned):
		return located(err, "body"+at, "simulate the equation, or train on such equations")
	case errors.Is(err, table.ErrNoLaw):
		return located(err, "body"+at, "ask for samples")
	case errors.Is(err, engine.ErrNoTable):
		p := newProblem(http.StatusUnprocessableEntity, "the model gives no density: only models on the line have one")
		return p
	case errors.Is(err, errBusy), errors.Is(err, errClosed):
		p := newProblem(http.StatusServiceUnavailable, "the server is busy: "+err.Error())
		p.Hint = "ask again after " + retryAfter + " s"
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {retryAfter}})
	case errors.Is(err, context.DeadlineExceeded):
		p := newProblem(http.StatusGatewayTimeout, "the answer took too long")
		p.Hint = "ask for fewer samples or equations, or give a longer timeout_s"
		return p
	case errors.Is(err, context.Canceled):
		return newProblem(closedRequest, "the client closed the request")
	}
	return newProblem(http.StatusInternalServerError, err.Error())
}

func located(err error, place, hint string) *Problem {
	p := newProblem(http.StatusUnprocessableEntity, err.Error())
	p.Hint = hint
	p.Errors = []*huma.ErrorDetail{{Message: err.Error(), Location: place}}
	return p
}

// tooLarge is the answer to a request for more than the server gives.
func tooLarge(place string, asked, limit int, what string) *Problem {
	p := newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("%d %s are too many: the limit is %d", asked, what, limit))
	p.Errors = []*huma.ErrorDetail{{Message: fmt.Sprintf("the limit is %d", limit), Location: place, Value: asked}}
	p.Hint = "send several requests, each with another seed"
	return p
}
