package printable

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// mostOfAnswer limits the size of an error answer.
const mostOfAnswer = 1 << 20

// Transport escapes error answers of API servers and connection errors, because both become errors and then messages.
type Transport struct{ Next http.RoundTripper }

// WrappedRoundTripper implements net.RoundTripperWrapper of apimachinery.
func (t Transport) WrappedRoundTripper() http.RoundTripper { return t.Next }

// RoundTrip implements http.RoundTripper.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Next.RoundTrip(req)
	if err != nil {
		return resp, Error(err)
	}
	if resp.StatusCode < http.StatusBadRequest || resp.Body == nil || strings.Contains(req.URL.Path, "/proxy/") { // the answer of a pod
		return resp, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostOfAnswer))
	_ = resp.Body.Close()
	if err != nil {
		return nil, Error(err)
	}
	body = answer(body, resp.Header.Get("Content-Type"))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// answer escapes an answer in its content type.
func answer(body []byte, form string) []byte {
	switch {
	case strings.Contains(form, "json"):
		var value any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return []byte(Text(string(body)))
		}
		gated, err := json.Marshal(values(value))
		if err != nil {
			return []byte(Text(string(body)))
		}
		return gated
	case strings.Contains(form, "protobuf"):
		return status(body)
	default:
		return []byte(Text(string(body)))
	}
}

// values escapes all texts of a JSON document.
func values(value any) any {
	switch value := value.(type) {
	case string:
		return Text(value)
	case []any:
		for i := range value {
			value[i] = values(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = values(value[name])
		}
	}
	return value
}

// Error returns an error whose text can be displayed and that wraps err.
func Error(err error) error {
	if err == nil || Text(err.Error()) == err.Error() {
		return err
	}
	return gated{err}
}

type gated struct{ error }

// Error implements error.
func (g gated) Error() string { return Text(g.error.Error()) }

// Unwrap returns the error for errors.Is and errors.As.
func (g gated) Unwrap() error { return g.error }

// JSON escapes all texts of a JSON document, for readers that display the values.
func JSON(document []byte) []byte {
	if !bytes.Contains(document, []byte(`\u`)) && !bytes.Contains(document, []byte(`\r`)) && bytes.IndexFunc(document, func(r rune) bool { return !safe(r) }) < 0 {
		return document
	}
	return answer(document, "json")
}
