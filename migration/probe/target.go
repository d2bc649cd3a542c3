package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/internal/shell"
	"github.com/sliceshift/sliceshift/internal/version"
	"github.com/sliceshift/sliceshift/migration/health"
)

// Limits of a request: its duration, and the number of bytes of an answer.
const (
	Deadline = 2 * time.Second
	mostBody = 1 << 20
)

// purpose describes the URL of a probe.
var purpose = health.Purpose{Field: "probe.url", Setting: "gates.probes", User: "remove it", Query: "remove it"}

// Target is the requested URL.
type Target struct {
	url      *url.URL
	client   *http.Client
	deadline time.Duration
}

// NewTarget returns the target of a URL, if the URL is allowed. It opens no connection.
func NewTarget(address string, allowed health.Addresses) (*Target, error) {
	u, judge, err := allowed.Allow(purpose, address)
	if err != nil {
		return nil, err
	}
	return &Target{url: u, deadline: Deadline, client: &http.Client{
		Transport:     health.Transport(judge),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Request sends one request, and returns why it failed; empty if it succeeded.
func (t *Target) Request(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, t.deadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), http.NoBody)
	if err != nil {
		return t.failure("cannot be requested", "")
	}
	request.Header.Set("User-Agent", "sliceshift-probe/"+version.Version)
	answer, err := t.client.Do(request)
	if err != nil {
		return t.unanswered(err)
	}
	defer answer.Body.Close()
	switch code := answer.StatusCode; {
	case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
		return t.redirected(code, answer.Header.Get("Location"))
	case code < http.StatusOK || code >= http.StatusMultipleChoices:
		return t.failure(fmt.Sprintf("answers HTTP %d", code), "ask it as well: "+shell.Command("curl", "-i", t.url.String()))
	}
	return t.read(answer.Body)
}

// read reads the answer to its end, because a client needs all of it.
func (t *Target) read(body io.Reader) string {
	n, err := io.Copy(io.Discard, io.LimitReader(body, mostBody+1))
	switch {
	case n > mostBody:
		return t.failure(fmt.Sprintf("answers with more than %d MiB", mostBody>>20), "probe a URL whose answer is short")
	case timedOut(err):
		return t.failure(fmt.Sprintf("has not ended its answer within %s", t.deadline), "probe a URL whose answer is short and ends")
	case err != nil:
		return t.failure("has broken its answer off", "see the logs of the pods, and of what is before them")
	}
	return ""
}

// redirected returns the failure for a redirect. It is not followed: it may lead anywhere, and its target is
// not the requested URL.
func (t *Target) redirected(code int, location string) string {
	to, err := t.url.Parse(location)
	if location == "" || err != nil || to.Host == "" {
		return t.failure(fmt.Sprintf("redirects (HTTP %d) to no URL", code), "probe a URL that answers itself")
	}
	to.User, to.RawQuery, to.Fragment = nil, "", "" // they may contain secrets
	return t.failure(fmt.Sprintf("redirects (HTTP %d), which a probe does not follow", code), "probe "+short(to.String())+" itself, if that is the application")
}

// unanswered returns the failure for a request without an answer. It shows nothing of an answer that is not
// HTTP, because the URL may lead to another service.
func (t *Target) unanswered(err error) string {
	reach := "see whether it is reached from where the migration is driven: " + shell.Command("curl", "-i", "-m", "2", t.url.String())
	op, network := errors.AsType[*net.OpError](err)
	certificate, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case timedOut(err):
		return t.failure(fmt.Sprintf("gives no answer within %s", t.deadline), reach)
	case unverified:
		return t.failure("shows a certificate that is not trusted: "+certificate.Err.Error(), "probe it by a name that the certificate has, and trust its authority where the migration is driven")
	case plain, errors.Is(err, http.ErrSchemeMismatch):
		return t.failure("does not speak TLS", "check its scheme and port")
	case network && (op.Op == "dial" || op.Op == "proxyconnect"):
		return t.failure("is not reached: "+op.Error(), reach)
	case network, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return t.failure("closes the connection without an answer", reach)
	}
	return t.failure("does not answer in HTTP", "check its scheme and port")
}

func timedOut(err error) bool {
	timeout, is := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || is && timeout.Timeout()
}

// failure returns the reason of a failed request with its remedy, in one line.
func (t *Target) failure(what, remedy string) string {
	return short(t.url.String()) + " " + short(what) + "; " + remedy
}

// atMost truncates a text to a number of characters.
func atMost(most int, text string) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// longest is the maximum number of characters of a part of a message.
const longest = 200

// short returns a part of a message that may come from another source, in one short printable line.
func short(text string) string {
	text = printable.Text(strings.Join(strings.Fields(text), " "))
	return atMost(longest, text)
}
