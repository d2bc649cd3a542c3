package slice

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
)

// withSidecar adds an init container and a second container to the template.
func withSidecar(set *slicesapi.StatefulSet) {
	spec := &set.Spec.Template.Spec
	spec.InitContainers = []corev1.Container{{Name: "setup", Image: "setup:1"}}
	spec.Containers = append(spec.Containers, corev1.Container{Name: "proxy", Image: "proxy:1"})
}

// hasImages checks the images of setup, web and proxy, in this order.
func hasImages(want string) func(*testing.T, *slicesapi.StatefulSet) {
	return func(t *testing.T, set *slicesapi.StatefulSet) {
		t.Helper()
		spec := set.Spec.Template.Spec
		var images []string
		for _, container := range append(spec.InitContainers, spec.Containers...) {
			images = append(images, container.Image)
		}
		if got := strings.Join(images, " "); got != want {
			t.Errorf("images %q, want %q", got, want)
		}
	}
}

// TestY8SetImage: set image changes the template as kubectl does for built-in kinds, and nothing when one name is wrong.
func TestY8SetImage(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		set     *slicesapi.StatefulSet
		want    int
		wantOut string
		wantErr string
		// check verifies the write; nil means that nothing is written.
		check func(*testing.T, *slicesapi.StatefulSet)
	}{
		"one container":       {args: []string{"web", "web=web:2"}, set: webSlice(withSidecar), wantOut: "statefulset.apps.sliceshift.io/web image updated\n", check: hasImages("setup:1 web:2 proxy:1")},
		"type and name":       {args: []string{"sts", "web", "web=web:2"}, set: webSlice(), wantOut: "web image updated\n", check: hasImages("web:2")},
		"two containers":      {args: []string{"sts/web", "setup=setup:2", "proxy=a/b:2@sha256:1"}, set: webSlice(withSidecar), wantOut: "image updated\n", check: hasImages("setup:2 web:1 a/b:2@sha256:1")},
		"all containers":      {args: []string{"web", "*=one:1"}, set: webSlice(withSidecar), wantOut: "image updated\n", check: hasImages(strings.TrimSpace(strings.Repeat("one:1 ", 3)))},
		"by labels":           {args: []string{"-l", "tier=db", "web=web:2"}, set: webSlice(labelled), wantOut: "image updated\n", check: hasImages("web:2")},
		"all sets":            {args: []string{"sts", "--all", "web=web:2"}, set: webSlice(), wantOut: "image updated\n", check: hasImages("web:2")},
		"the same image":      {args: []string{"web", "web=web:1"}, set: webSlice()},
		"no such container":   {args: []string{"web", "web=web:2", "wbe=web:2"}, set: webSlice(withSidecar), want: 1, wantErr: `StatefulSet shop/web: unable to find container named "wbe", only: setup, web, proxy`},
		"no such set":         {args: []string{"other", "web=web:2"}, set: webSlice(), want: 1, wantErr: "StatefulSet shop/other in cluster east"},
		"the name only":       {args: []string{"web", "-o", "name"}, set: webSlice(), want: 2, wantErr: "at least one image update is required"},
		"only names, output":  {args: []string{"web", "web=web:2", "-o", "name"}, set: webSlice(), wantOut: "statefulset.apps.sliceshift.io/web\n", check: hasImages("web:2")},
		"a name too late":     {args: []string{"web", "web=web:2", "db"}, set: webSlice(), want: 2, wantErr: "all names must come before the images: db"},
		"no image":            {args: []string{"web", "web="}, set: webSlice(), want: 2, wantErr: `"web=" is not an image update`},
		"no container":        {args: []string{"web", "=web:2"}, set: webSlice(), want: 2, wantErr: `"=web:2" is not an image update`},
		"no set":              {args: []string{"web=web:2"}, set: webSlice(), want: 2, wantErr: "takes a StatefulSet, or --selector"},
		"all and one more":    {args: []string{"web", "*=web:2", "web=web:3"}, set: webSlice(), want: 2, wantErr: "'*' already names all containers"},
		"all and labels":      {args: []string{"--all", "-l", "tier=db", "web=web:2"}, set: webSlice(), want: 2, wantErr: "--all and --selector exclude each other"},
		"a bad format":        {args: []string{"web", "web=web:2", "-o", "wide"}, set: webSlice(), want: 2, wantErr: "unable to match a printer"},
		"client dry run":      {args: []string{"web", "web=web:2", "--dry-run=client"}, set: webSlice(), wantOut: "web image updated (dry run)\n"},
		"client dry run, all": {args: []string{"web", "web=web:2", "--dry-run=client", "-o", "jsonpath={.spec.template.spec.containers[0].image}"}, set: webSlice(), wantOut: "web:2"},
		"client, the same":    {args: []string{"web", "web=web:1", "--dry-run=client"}, set: webSlice()},
		"client, no such":     {args: []string{"web", "x=web:1", "--dry-run=client"}, set: webSlice(), want: 1, wantErr: `"x"`},
		"server dry run":      {args: []string{"web", "web=web:2", "--dry-run=server"}, set: webSlice(), wantOut: "web image updated (server dry run)\n"},
		"of a paused one":     {args: []string{"web", "web=web:2"}, set: webSlice(pausedSlice), wantOut: "image updated\n", wantErr: "its pods follow after: migrate rollout resume web -n shop", check: hasImages("web:2")},
		"during a move":       {args: []string{"web", "web=web:2"}, set: webSlice(movingSlice), wantOut: "image updated\n", wantErr: "A migration drives StatefulSet shop/web", check: hasImages("web:2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			east := newServer(t, tc.set.DeepCopy())
			c := newConsole(append([]string{"set", "image"}, append(tc.args, "-n", "shop", "--kubeconfig", east.Kubeconfig(t))...)...)
			c.Expect(t, tc.want, tc.wantOut, tc.wantErr)
			if wrote := east.Wrote(); (len(wrote) > 0) != (tc.check != nil) {
				t.Errorf("writes %v", wrote)
			}
			if tc.check != nil {
				tc.check(t, storedSlice(t, east))
			}
		})
	}
}

// TestY8SetImageRetried: a change that comes between read and write, such as one of the status, does not fail the command,
// and the image is set in the container of that name, wherever it is then.
func TestY8SetImageRetried(t *testing.T) {
	east := newServer(t, webSlice())
	moved := false
	east.Before = func(r *http.Request) error {
		if r.Method != http.MethodPatch || moved {
			return nil
		}
		moved = true
		next := storedSlice(t, east)
		containers := next.Spec.Template.Spec.Containers
		next.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy", Image: "proxy:1"}}, containers...)
		return east.Store.Update(t.Context(), next)
	}
	c := newConsole("set", "image", "web", "web=web:2", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
	c.Expect(t, command.ExitDone, "image updated\n", "")
	hasImages("proxy:1 web:2")(t, storedSlice(t, east))
}

// TestY8SetImageGivenUp: a set that changes with each attempt is left alone, and the command says so.
func TestY8SetImageGivenUp(t *testing.T) {
	east := newServer(t, webSlice())
	east.Before = overtakenAlways(t, east)
	c := newConsole("set", "image", "web", "web=web:2", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
	c.Expect(t, command.ExitFailure, "", "StatefulSet shop/web was changed meanwhile: look at it, and repeat the command")
	hasImages("web:1")(t, storedSlice(t, east))
}

// overtakenAlways changes the set before each patch.
func overtakenAlways(t *testing.T, east *apitest.Server) func(*http.Request) error {
	t.Helper()
	times := 0
	return func(r *http.Request) error {
		if r.Method != http.MethodPatch {
			return nil
		}
		times++
		next := storedSlice(t, east)
		next.Labels = map[string]string{"times": strings.Repeat("x", times)}
		return east.Store.Update(t.Context(), next, &client.UpdateOptions{})
	}
}
