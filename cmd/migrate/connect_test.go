package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

func TestPlaces(t *testing.T) {
	two, other := writeKubeconfig(t, "east", "west"), writeKubeconfig(t, "north")
	for name, tc := range map[string]struct {
		context          string
		to               destinationFlags
		wantFrom, wantTo string
	}{
		"the current context":        {"", destinationFlags{namespace: "x"}, "east", "east"},
		"another context":            {"west", destinationFlags{namespace: "x"}, "west", "west"},
		"to another context":         {"", destinationFlags{context: "west"}, "east", "west"},
		"to another file":            {"west", destinationFlags{kubeconfig: other}, "west", "north"},
		"to another file's context":  {"east", destinationFlags{kubeconfig: two, context: "west"}, "east", "west"},
		"to the context of the same": {"west", destinationFlags{context: "east"}, "west", "east"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &common{environment: newConsole().environment, config: genericclioptions.NewConfigFlags(false)}
			c.config.KubeConfig, c.config.Context = &two, &tc.context
			from, err := c.source()
			if err != nil {
				t.Fatal(err)
			}
			to, err := c.destination(tc.to)
			if err != nil {
				t.Fatal(err)
			}
			if from.name != tc.wantFrom || to.name != tc.wantTo {
				t.Errorf("from %q to %q, want %q and %q", from.name, to.name, tc.wantFrom, tc.wantTo)
			}
			for _, p := range []place{from, to} {
				if p.config.QPS != -1 || p.config.Timeout != 15*time.Second || !strings.HasPrefix(p.config.Host, "https://"+p.name) {
					t.Errorf("%s: QPS %v, timeout %v, host %s", p.name, p.config.QPS, p.config.Timeout, p.config.Host)
				}
			}
		})
	}
}

func TestRequestTimeout(t *testing.T) {
	path, timeout := writeKubeconfig(t, "east"), "3s"
	c := &common{config: genericclioptions.NewConfigFlags(false)}
	c.config.KubeConfig, c.config.Timeout = &path, &timeout
	for _, locate := range []func() (place, error){c.source, func() (place, error) { return c.destination(destinationFlags{}) }} {
		p, err := locate()
		if err != nil || p.config.Timeout != 3*time.Second {
			t.Errorf("%v, timeout %v", err, p.config.Timeout)
		}
	}
}

func TestNoKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("HOME", t.TempDir())
	c := &common{config: genericclioptions.NewConfigFlags(false)}
	if _, err := c.source(); err == nil || !strings.Contains(err.Error(), "set --kubeconfig or --context") {
		t.Errorf("error %v", err)
	}
}

// TestApart: contexts of two files are often called alike.
func TestApart(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to         place
		wantFrom, wantTo string
	}{
		"different": {place{"a", "https://1", nil}, place{"b", "https://2", nil}, "a", "b"},
		"one":       {place{"a", "https://1", nil}, place{"a", "https://1", nil}, "a", "a"},
		"alike":     {place{"a", "https://1", nil}, place{"a", "https://2", nil}, "a (https://1)", "a (https://2)"},
	} {
		t.Run(name, func(t *testing.T) {
			apart(&tc.from, &tc.to)
			if tc.from.name != tc.wantFrom || tc.to.name != tc.wantTo {
				t.Errorf("%q and %q, want %q and %q", tc.from.name, tc.to.name, tc.wantFrom, tc.wantTo)
			}
		})
	}
}

// TestRefusedByAPolicy: a right that is missing is told to be bound, and what a policy says is
// left as it is.
func TestRefusedByAPolicy(t *testing.T) {
	gr := schema.GroupResource{Group: api.GroupVersion.Group, Resource: "migrations"}
	policy := unreachable("east", apierrors.NewForbidden(gr, "web", errors.New("ValidatingAdmissionPolicy 'p' denied request: alice may not")))
	right := unreachable("east", apierrors.NewForbidden(gr, "web", errors.New(`User "alice" cannot create resource "migrations"`)))
	if strings.Contains(policy.Error(), "bind the") || !strings.Contains(policy.Error(), "alice may not") {
		t.Errorf("a policy: %v", policy)
	}
	if !strings.Contains(right.Error(), "bind the ClusterRoles") {
		t.Errorf("a right: %v", right)
	}
}
