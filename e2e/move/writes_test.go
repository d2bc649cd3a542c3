package move

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestWrites: the writes of whole moves to each object, in their order and to the byte, are those of the golden files. A change
// of the code that is meant to change no behaviour leaves them as they are. Records and events, which depend on time, are
// left out.
func TestWrites(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]crashPlay{
		"clusters":     crashPlays["clusters"],
		"namespaces":   crashPlays["namespaces"],
		"names":        crashPlays["names"],
		"named":        crashPlays["named"],
		"copy":         crashPlays["copy"],
		"dependencies": {replicas: 1, where: harness.AcrossClusters, more: allOf(needy, withCopies)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(play.replicas), play.where, play.more)
			v.servingExports()
			if play.fills != nil {
				play.fills(v)
			}
			w := &writes{to: map[string][]string{}, plain: strings.NewReplacer(v.App.Namespace, "HERE", v.ToNamespace, "THERE")}
			mover, err := fixture.NewMover(v.Ctx, w.recorded("source", v.From.RESTConfig()), w.recorded("destination", v.To.RESTConfig()), v.Migration)
			v.Must(err)
			v.Drive(mover)
			golden.Compare(t, "writes-"+name+".golden", w.String())
		})
	}
}

// withCopies copies the objects that the pods need.
func withCopies(v *harness.Move) { v.Migration.Spec.Dependencies.Mode = api.DependenciesCopy }

// writes records the writes of a process that the API server has accepted, by object: the order of writes to different objects depends on their controllers.
type writes struct {
	mu    sync.Mutex
	to    map[string][]string
	plain *strings.Replacer
}

// recorded returns a config whose writes are recorded.
func (w *writes) recorded(side string, config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeJSON
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if !changes(r) || strings.HasSuffix(r.URL.Path, "/events") || strings.Contains(r.URL.Path, "/authentication.k8s.io/") {
				return next.RoundTrip(r)
			}
			body, err := bodyOf(r)
			if err != nil {
				return nil, err
			}
			answer, err := next.RoundTrip(r)
			if err != nil || answer.StatusCode >= http.StatusBadRequest {
				return answer, err
			}
			if err := w.record(side, r, body); err != nil {
				return nil, errors.Join(err, answer.Body.Close())
			}
			return answer, nil
		})
	})
	return config
}

// bodyOf returns the body of a request, which can still be sent.
func bodyOf(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func (w *writes) record(side string, r *http.Request, body []byte) error {
	var named metav1.PartialObjectMetadata
	text, err := yaml.JSONToYAML(withoutManagers(body))
	if err == nil {
		err = yaml.Unmarshal(body, &named)
	}
	if err != nil {
		return fmt.Errorf("the body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	object := r.URL.Path
	if r.Method == http.MethodPost {
		object += "/" + named.Name
	}
	if strings.HasSuffix(object, "/configmaps/"+records.ConfigMap{Name: "web"}.ObjectName()) {
		return nil
	}
	if strings.Contains(object, "/persistentvolume") && fenceOnly.Match(text) {
		return nil // a call to the binder depends on time
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	object = w.stable(fmt.Sprintf("%s on the %s", object, side))
	w.to[object] = append(w.to[object], w.stable(fmt.Sprintf("%s %s %s\n%s\n", r.Method, r.Header.Get("Content-Type"), r.URL.RawQuery, strings.TrimSpace(string(text)))))
	return nil
}

// withoutManagers returns the body of a request without field managers, whose entries depend on time.
func withoutManagers(body []byte) []byte {
	var object struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	}
	var rest map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object.Metadata["managedFields"] == nil || json.Unmarshal(body, &rest) != nil {
		return body
	}
	delete(object.Metadata, "managedFields")
	metadata, err := json.Marshal(object.Metadata)
	if err != nil {
		return body
	}
	rest["metadata"] = metadata
	if text, err := json.Marshal(rest); err == nil {
		return text
	}
	return body
}

var (
	uid     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	version = regexp.MustCompile(`((?:resourceVersion|sliceshift\.io/attempt): )"\d+"`)
	address = regexp.MustCompile(`\b127(\.\d+){3}:\d+`)
	digest  = regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{32})\b`)
	// fenceOnly matches a patch that writes nothing but the fence.
	fenceOnly = regexp.MustCompile(`^metadata:\n  annotations:\n    migration.sliceshift.io/fence: \S+\n  resourceVersion: .*\n  uid: .*\n$`)
	// attempt matches the end of the names of an attempt: a digest of the Migration and the claim, and a time.
	attempt = regexp.MustCompile(`-x[0-9a-f]{16}(-a[0-9a-z]+)?`)
)

// stable replaces what differs from one run to the next.
func (w *writes) stable(text string) string {
	text = uid.ReplaceAllString(w.plain.Replace(text), "UID")
	text = version.ReplaceAllString(attempt.ReplaceAllString(text, "-ATTEMPT"), `$1"N"`)
	return digest.ReplaceAllString(address.ReplaceAllString(text, "ADDRESS"), "DIGEST")
}

// String returns the writes to each object in their order.
func (w *writes) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	for _, object := range slices.Sorted(maps.Keys(w.to)) {
		if all := w.to[object]; strings.Contains(object, "/poddisruptionbudgets/") && len(all) > 1 {
			w.to[object] = []string{all[0], all[len(all)-1]} // how a budget grows depends on when pods become available
		}
		fmt.Fprintf(&b, "== %s\n%s\n", object, strings.Join(w.to[object], "\n"))
	}
	return b.String()
}
