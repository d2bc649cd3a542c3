package health

import (
	"context"
	"errors"
	"path"
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/kubeconfig"
)

// FuzzExpression: any text is refused, or evaluates within its cost and time limits.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		"object.data.ready == 'true'", "objects.all(o, objects.exists(p, p == o))", dear(), "[[1,2],[3]].map(x, x.map(y, y + ordinal)).size() > 0",
		"object.?a.?b.orValue(1) == 1", "'a'.matches('(a+)+$')", "quantity('1Gi').isGreaterThan(quantity('1'))", "((((((((((", "duration('1s') < duration('2h')",
		"pod.replace('', pod + pod, 1000).size() > 0", "{'a': object}.a.data.lag.split('').size() == 2",
	} {
		f.Add(seed)
	}
	about := map[string]any{
		"object":  map[string]any{"data": map[string]any{"ready": "true", "lag": "40", "n": int64(1), "x": 1.5, "list": []any{int64(1), "a", nil}}},
		"objects": []any{map[string]any{"a": "b"}, map[string]any{}}, "ordinal": int64(2), "pod": "web-2", "side": "Source",
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := compile("cel.expression", text, ofObjects)
		if err != nil {
			if _, is := errors.AsType[*InvalidError](err); !is {
				t.Errorf("got %v", err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		holds, err := e.holds(ctx, about)
		if errors.Is(err, errAbort) {
			t.Error("its cost does not bound its time")
		}
		answer := answerTo("cel.expression", "it", holds, err)
		if answer.Verdict == Passed && !holds {
			t.Errorf("it has passed: %v", answer)
		}
	})
}

// FuzzText: an accepted text has no variables left after Fill.
func FuzzText(f *testing.F) {
	f.Add("a{pod=\"${pod}\"}")
	f.Add("${ordinal}${statefulset}-${namespace}$${pod}${")
	f.Add("${${pod}}")
	f.Fuzz(func(t *testing.T, text string) {
		filled := web2.fill(text)
		if checkText("a", text, []api.GatePoint{api.GateAfterStart}) != nil {
			return
		}
		if strings.Contains(text, "${pod}") && !strings.Contains(filled, "web-2") {
			t.Errorf("%q became %q", text, filled)
		}
		if plain := variable.ReplaceAllString(text, ""); !strings.Contains(text, "${") && (plain != text || filled != text) {
			t.Errorf("%q became %q", text, filled)
		}
	})
}

// FuzzPath: an accepted path never leads out of the pod.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b", "/%2e%2e/a", "/a?b=../c", "//a", "/a;b/..", "/%5c..", "/a/%2e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, query, err := pathOf(text)
		if err != nil {
			return
		}
		const pod = "/api/v1/namespaces/shop/pods/http:web-2:8080/proxy"
		if clean := path.Clean(pod + at); clean != strings.TrimSuffix(pod+at, "/") || strings.ContainsAny(query, "#") {
			t.Errorf("%q leads to %q", text, clean)
		}
	})
}

// FuzzAddress: unless the operator lists it, every accepted address uses https and is not one of the manager's
// own machine.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"https://a", "http://a", "https://127.1", "https://[::1%25lo]", "https://a@127.0.0.1", "https://a\\@b", "https://LOCALHOST."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, judge, err := Addresses{}.Allow(ofPrometheus("prometheus"), text)
		if err != nil {
			return
		}
		if u.Scheme != "https" || u.User != nil || u.RawQuery != "" || kubeconfig.Local(u.Hostname()) || !judge {
			t.Errorf("%q is let through as %v", text, u)
		}
	})
}
