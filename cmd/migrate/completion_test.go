package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
)

// completions returns the suggestions for the last word of a command line.
func completions(t *testing.T, kubeconfig string, words ...string) []string {
	t.Helper()
	// A flag after the last word would be completed instead.
	c := wholeConsole(append([]string{"__complete", words[0], "--kubeconfig", kubeconfig}, words[1:]...)...)
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.Stderr)
	}
	var found []string
	for line := range strings.Lines(c.Stdout.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(word, ":") {
			found = append(found, word)
		}
	}
	return found
}

// TestCompletion: names, contexts, namespaces and flag values are completed, with the kinds that each command accepts.
func TestCompletion(t *testing.T) {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	server := apitest.Serve(t, map[schema.GroupVersion]map[string]string{
		{Version: "v1"}:           {"namespaces": "Namespace"},
		appsv1.SchemeGroupVersion: {"statefulsets": "StatefulSet"},
		slicesapi.GroupVersion:    {"statefulsets": "StatefulSet"},
		api.GroupVersion:          {"migrations": "Migration"},
	},
		&appsv1.StatefulSet{ObjectMeta: in("web")}, &slicesapi.StatefulSet{ObjectMeta: in("slice")}, &api.Migration{ObjectMeta: in("move")},
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "db"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	kubeconfig := server.Kubeconfig(t)
	for name, tc := range map[string]struct {
		words []string
		want  []string
	}{
		"a StatefulSet":      {[]string{"plan", "-n", "shop", ""}, []string{"slice", "web"}},
		"what moves":         {[]string{"status", "-n", "shop", ""}, []string{"move", "slice", "web"}},
		"one of our kind":    {[]string{"rollout", "status", "-n", "shop", ""}, []string{"slice"}},
		"Y8 to restart":      {[]string{"rollout", "restart", "-n", "shop", ""}, []string{"slice"}},
		"Y8 to set":          {[]string{"set", "image", "-n", "shop", ""}, []string{"slice"}},
		"Y8 logs of it":      {[]string{"logs", "-n", "shop", ""}, []string{"slice"}},
		"Y8 to expose":       {[]string{"expose", "-n", "shop", ""}, []string{"slice"}},
		"a second argument":  {[]string{"status", "-n", "shop", "web", ""}, nil},
		"a context":          {[]string{"plan", "--context", ""}, []string{"east", "west"}},
		"where to":           {[]string{"plan", "--to-context", ""}, []string{"east", "west"}},
		"a namespace":        {[]string{"plan", "-n", ""}, []string{"shop"}},
		"a word of a flag":   {[]string{"plan", "--order", ""}, []string{"highest-first", "lowest-first"}},
		"a word of all":      {[]string{"status", "--color", ""}, []string{"auto", "always", "never"}},
		"nothing to install": {[]string{"install", ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, completions(t, kubeconfig, tc.words...)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestCompletionOfThePlugin: the command prints the same script as the archives contain.
func TestCompletionOfThePlugin(t *testing.T) {
	c := wholeConsole("completion", "kubectl")
	if code := c.Run(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, c.Stderr)
	}
	want, err := os.ReadFile("command/kubectl_complete-migrate")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), c.Stdout.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c = wholeConsole("completion", "bash", "--help")
	c.Program = "kubectl migrate"
	if c.Run(t) != 0 || !strings.Contains(c.Stdout.String(), "source <(kubectl migrate completion bash)") || !strings.Contains(c.Stdout.String(), "kubectl migrate completion kubectl\n") {
		t.Errorf("the help names another program:\n%s", c.Stdout)
	}
	if c = wholeConsole("completion", "bash"); c.Run(t) != 0 || !strings.Contains(c.Stdout.String(), "__start_migrate") {
		t.Errorf("no script for bash: %s", c.Stderr)
	}
}
