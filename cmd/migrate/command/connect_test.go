package command

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
)

func TestEndpoints(t *testing.T) {
	two, other := apitest.SilentKubeconfig(t, "east", "west"), apitest.SilentKubeconfig(t, "north")
	for name, tc := range map[string]struct {
		context          string
		to               [2]string // the file and the context
		wantFrom, wantTo string
	}{
		"the current context":        {"", [2]string{}, "east", "east"},
		"another context":            {"west", [2]string{}, "west", "west"},
		"to another context":         {"", [2]string{"", "west"}, "east", "west"},
		"to another file":            {"west", [2]string{other, ""}, "west", "north"},
		"to another file's context":  {"east", [2]string{two, "west"}, "east", "west"},
		"to the context of the same": {"west", [2]string{"", "east"}, "west", "east"},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewCommon(Environment{})
			c.Config.KubeConfig, c.Config.Context = &two, &tc.context
			from, err := c.Source()
			if err != nil {
				t.Fatal(err)
			}
			to, err := c.EndpointAt(tc.to[0], tc.to[1], "--to-context")
			if err != nil {
				t.Fatal(err)
			}
			if from.name != tc.wantFrom || to.name != tc.wantTo {
				t.Errorf("from %q to %q, want %q and %q", from.name, to.name, tc.wantFrom, tc.wantTo)
			}
			for _, p := range []Endpoint{from, to} {
				// The flags must work with any current context.
				if !strings.HasSuffix(p.flags, " --context "+p.name) || !strings.HasPrefix(p.flags, "--kubeconfig ") {
					t.Errorf("%s: kubectl gets there by %q", p.name, p.flags)
				}
				if p.config.QPS != -1 || p.config.Timeout != 15*time.Second || !strings.HasPrefix(p.config.Host, "https://"+p.name) {
					t.Errorf("%s: QPS %v, timeout %v, host %s", p.name, p.config.QPS, p.config.Timeout, p.config.Host)
				}
			}
		})
	}
}

// TestFlagsOf: the flags that lead kubectl to a cluster name the context and are quoted for a shell. Without a context
// there are none.
func TestFlagsOf(t *testing.T) {
	for want, tc := range map[string]struct{ file, kubecontext, server string }{
		"--context east":                                  {"", "east", ""},
		"--kubeconfig '/a b' --context east":              {"/a b", "east", ""},
		"--context east --server https://127.0.0.1:16443": {"", "east", "https://127.0.0.1:16443"},
		"": {"/a", "", ""},
	} {
		c := NewCommon(Environment{})
		c.Config.KubeConfig, c.Config.APIServer = &tc.file, &tc.server
		if got := flagsOf(c.Config, tc.kubecontext); got != want {
			t.Errorf("%+v: %q, want %q", tc, got, want)
		}
	}
}

func TestRequestTimeout(t *testing.T) {
	path, timeout := apitest.SilentKubeconfig(t, "east"), "3s"
	c := NewCommon(Environment{})
	c.Config.KubeConfig, c.Config.Timeout = &path, &timeout
	for _, locate := range []func() (Endpoint, error){c.Source, func() (Endpoint, error) { return c.EndpointAt("", "", "--to-context") }} {
		p, err := locate()
		if err != nil || p.config.Timeout != 3*time.Second {
			t.Errorf("%v, timeout %v", err, p.config.Timeout)
		}
	}
}

func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("HOME", t.TempDir())
	c := NewCommon(Environment{})
	if _, err := c.Source(); err == nil || !strings.Contains(err.Error(), "set --kubeconfig or --context") {
		t.Errorf("error %v", err)
	}
}

// TestDistinguish: two contexts with the same name get different names.
func TestDistinguish(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to         Endpoint
		wantFrom, wantTo string
	}{
		"different": {Endpoint{"a", "https://1", "", nil}, Endpoint{"b", "https://2", "", nil}, "a", "b"},
		"one":       {Endpoint{"a", "https://1", "", nil}, Endpoint{"a", "https://1", "", nil}, "a", "a"},
		"alike":     {Endpoint{"a", "https://1", "", nil}, Endpoint{"a", "https://2", "", nil}, "a (https://1)", "a (https://2)"},
	} {
		t.Run(name, func(t *testing.T) {
			Distinguish(&tc.from, &tc.to)
			if tc.from.name != tc.wantFrom || tc.to.name != tc.wantTo {
				t.Errorf("%q and %q, want %q and %q", tc.from.name, tc.to.name, tc.wantFrom, tc.wantTo)
			}
		})
	}
}

// TestRefusedByAPolicy: for a missing permission the message says what to bind. The message of a policy is unchanged.
func TestRefusedByAPolicy(t *testing.T) {
	gr := schema.GroupResource{Group: api.GroupVersion.Group, Resource: "migrations"}
	policy := Unreachable("east", apierrors.NewForbidden(gr, "web", errors.New("ValidatingAdmissionPolicy 'p' denied request: alice may not")))
	right := Unreachable("east", apierrors.NewForbidden(gr, "web", errors.New(`User "alice" cannot create resource "migrations"`)))
	if strings.Contains(policy.Error(), "bind the") || !strings.Contains(policy.Error(), "alice may not") {
		t.Errorf("a policy: %v", policy)
	}
	if !strings.Contains(right.Error(), "bind the ClusterRoles") {
		t.Errorf("a right: %v", right)
	}
}
