package tutorial

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
	"github.com/sliceshift/sliceshift/internal/manual"
)

// imageLimit bounds the Docker commands of the pages.
const imageLimit = 10 * time.Minute

// known are the commands that TestImage runs.
var known = regexp.MustCompile(`^(make image IMAGE=REGISTRY/|docker push REGISTRY/)`)

// TestImage builds the manager's image and pushes it to a registry of the test, by the literal commands of the pages.
// The registry must receive the image that was built.
func TestImage(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("make e2e-kind runs this")
	}
	ctx, cancel := context.WithTimeout(t.Context(), imageLimit)
	defer cancel()
	daemon, err := docker.Ensure(ctx, t.TempDir(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := daemon.Stop(); err != nil {
			t.Error(err)
		}
	})
	all := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(all)
	t.Cleanup(server.Close)
	host := "localhost:" + server.URL[strings.LastIndex(server.URL, ":")+1:] // Docker asks it without TLS
	image := host + "/sliceshift-manager:v1"
	t.Cleanup(func() {
		if err := docker.Run(context.WithoutCancel(ctx), "image", "rm", "--force", image); err != nil {
			t.Error(err)
		}
	})
	commands, err := manual.Of(root, manual.Image)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		if !known.MatchString(c.Text) {
			t.Fatalf("it is not known how to run %s", c)
		}
		if err := run(ctx, os.Environ(), strings.NewReplacer("REGISTRY", host, ":TAG", ":v1").Replace(c.Text)); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
	expectImage(t, all, image)
}

// expectImage checks that the registry has the image that Docker reports as pushed, and that it is the manager's.
func expectImage(t *testing.T, all http.Handler, image string) {
	t.Helper()
	manifest := pulled(t, all, "manifests/v1")
	sum := sha256.Sum256(manifest)
	said, err := docker.Output(t.Context(), "image", "inspect", "--format", "{{.RepoDigests}}", image)
	if err != nil || !strings.Contains(said, "@sha256:"+hex.EncodeToString(sum[:])+"]") {
		t.Errorf("Docker has pushed %s, the registry has sha256:%x (%v)", said, sum, err)
	}
	var of v1.Manifest
	if err := json.Unmarshal(manifest, &of); err != nil {
		t.Fatal(err)
	}
	var config v1.ConfigFile
	if err := json.Unmarshal(pulled(t, all, "blobs/"+of.Config.Digest.String()), &config); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"65532:65532", []string{"/manager"}, 1}, []any{config.Config.User, config.Config.Entrypoint, len(of.Layers)}); diff != "" {
		t.Errorf("image (-want +got):\n%s", diff)
	}
}

// pulled returns a resource of the image from the registry.
func pulled(t *testing.T, all http.Handler, what string) []byte {
	t.Helper()
	answer := httptest.NewRecorder()
	all.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v2/sliceshift-manager/"+what, nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("%s is not there: %d %s", what, answer.Code, answer.Body)
	}
	return answer.Body.Bytes()
}
