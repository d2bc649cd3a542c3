package slice

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/slices/history"
)

// webSlice returns shop/web of our kind, with three replicas that all run revision web-1.
func webSlice(changes ...func(*slicesapi.StatefulSet)) *slicesapi.StatefulSet {
	set := &slicesapi.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "slice", Generation: 1},
		Spec: slicesapi.StatefulSetSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web:1"),
			UpdateStrategy: slicesapi.StatefulSetUpdateStrategy{
				Type: slicesapi.RollingUpdate, RollingUpdate: &slicesapi.RollingUpdateStrategy{Partition: new(int32(0))},
			},
		},
		Status: slicesapi.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, CurrentReplicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3,
			CurrentRevision: "web-1", UpdateRevision: "web-1",
		},
	}
	isReady("3 of 3 pods are available")(set)
	for _, change := range changes {
		change(set)
	}
	return set
}

func podTemplate(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

// keptRevision returns a revision of shop/web.
func keptRevision(number int64, image, cause string) *appsv1.ControllerRevision {
	return keptRevisionOf(number, podTemplate(image), cause)
}

// keptRevisionOf returns a revision of shop/web with a template.
func keptRevisionOf(number int64, of corev1.PodTemplateSpec, cause string) *appsv1.ControllerRevision {
	template, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	revision := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("web-", number), Labels: map[string]string{"app": "web"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: slicesapi.GroupVersion.String(), Kind: "StatefulSet", Name: "web", UID: "slice", Controller: new(true)}},
		},
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":` + string(template) + `}}`)}, Revision: number,
	}
	if cause != "" {
		revision.Annotations = map[string]string{changeCauseAnnotationKey: cause}
	}
	return revision
}

func updating(set *slicesapi.StatefulSet) {
	notReady("3 of 3 pods are available, 2 need an update to revision web-2")(set)
	set.Status.UpdateRevision, set.Status.UpdatedReplicas, set.Status.CurrentReplicas = "web-2", 1, 2
}

func pausedSlice(set *slicesapi.StatefulSet) { set.Spec.Paused = true }

func partitioned(partition int32, reserved ...intstr.IntOrString) func(*slicesapi.StatefulSet) {
	return func(set *slicesapi.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate.Partition = new(partition)
		set.Spec.ReserveOrdinals = reserved
	}
}

// TestRollout runs the verbs against an API server.
func TestRollout(t *testing.T) {
	two := []client.Object{keptRevision(1, "web:1", ""), keptRevision(2, "web:2", "second")}
	three := append(slices.Clone(two), keptRevision(3, "web:3", ""))
	newest := func(set *slicesapi.StatefulSet) { set.Spec.Template = podTemplate("web:2") }
	held := conditioned(slicesapi.ConditionHeld, metav1.ConditionTrue, "NotReady", "web-1: waits until web-2 is Ready")
	for name, tc := range map[string]struct {
		args    []string
		set     *slicesapi.StatefulSet
		more    []client.Object
		want    int
		wantOut string
		wantErr string
		// check verifies the write; nil means that nothing is written.
		check func(*testing.T, *slicesapi.StatefulSet)
	}{
		"status":                 {args: []string{"status", "web"}, set: webSlice(), wantOut: "statefulset rolling update complete 3 pods at revision web-1...\n"},
		"status, once":           {args: []string{"status", "web", "--watch=false"}, set: webSlice(updating, held), wantOut: "waiting for statefulset rolling update to complete 1 pods at revision web-2...\n  Held: web-1: waits until web-2 is Ready\n"},
		"status, paused":         {args: []string{"status", "web", "--watch=false"}, set: webSlice(updating, pausedSlice), wantOut: "  paused: updates continue after rollout resume\n"},
		"status, timeout":        {args: []string{"status", "web", "--timeout", "2s"}, set: webSlice(updating), want: 4, wantOut: "waiting for", wantErr: "not completed after 2s"},
		"status, deadline":       {args: []string{"status", "web"}, set: webSlice(updating, stalled("ProgressDeadlineExceeded", "x")), want: 1, wantErr: "exceeded its progress deadline"},
		"status of a revision":   {args: []string{"status", "web", "--revision", "1"}, set: webSlice(), more: two, wantOut: "complete"},
		"status of another":      {args: []string{"status", "web", "--revision", "1"}, set: webSlice(updating), more: two, want: 1, wantErr: "desired revision (1) is different from the running revision (2)"},
		"a negative revision":    {args: []string{"status", "web", "--revision", "-1"}, set: webSlice(), want: 2, wantErr: "--revision must not be negative"},
		"a negative timeout":     {args: []string{"status", "web", "--timeout", "-1s"}, set: webSlice(), want: 2, wantErr: "--timeout must not be negative"},
		"no such set":            {args: []string{"status", "other"}, set: webSlice(), want: 1, wantErr: "no apps.sliceshift.io/v1alpha1 StatefulSet shop/other in cluster east; look for it"},
		"one of apps/v1":         {args: []string{"status", "native"}, set: webSlice(), more: []client.Object{nativeSet("native")}, want: 1, wantErr: `use kubectl rollout for it, or "migrate adopt native -n shop --kubeconfig `},
		"no verb":                {args: []string{"statsu", "web"}, set: webSlice(), want: 2, wantErr: `unknown verb "statsu"; did you mean status?`},
		"history":                {args: []string{"history", "statefulset.apps.sliceshift.io/web"}, set: webSlice(), more: two, wantOut: "statefulset.apps.sliceshift.io/web\nREVISION  CHANGE-CAUSE\n1         <none>\n2         second\n"},
		"history of others":      {args: []string{"history", "web"}, set: webSlice(func(s *slicesapi.StatefulSet) { s.UID = "another" }), more: two, wantOut: "REVISION  CHANGE-CAUSE\n"},
		"history, one":           {args: []string{"history", "web", "--revision", "2"}, set: webSlice(), more: two, wantOut: "with revision #2\nPod Template:\n  metadata:\n    labels:\n      app: web\n"},
		"history, none of it":    {args: []string{"history", "web", "--revision", "9"}, set: webSlice(), more: two, want: 1, wantErr: "unable to find specified revision 9 in history of StatefulSet shop/web"},
		"history, names":         {args: []string{"history", "web", "-o", "name"}, set: webSlice(), more: two, wantOut: "controllerrevision.apps/web-1\ncontrollerrevision.apps/web-2\n"},
		"history, JSON of one":   {args: []string{"history", "web", "--revision", "2", "-o", "json"}, set: webSlice(), more: two, wantOut: `"kind": "ControllerRevision"`},
		"history, a bad format":  {args: []string{"history", "web", "-o", "wide"}, set: webSlice(), more: two, want: 2, wantErr: "unable to match a printer"},
		"history, a template":    {args: []string{"history", "web", "--revision", "2", "-o", "jsonpath={.revision}"}, set: webSlice(), more: two, wantOut: "2"},
		"history, type and name": {args: []string{"history", "sts", "web"}, set: webSlice(), more: two, wantOut: "statefulset.apps.sliceshift.io/web\nREVISION"},
		"Y8 pause with a type":   {args: []string{"pause", "sts/web"}, set: webSlice(), wantOut: "statefulset.apps.sliceshift.io/web paused\n", check: isPaused(true)},
		"Y8 another type":        {args: []string{"pause", "deploy/web"}, set: webSlice(), want: 2, wantErr: `"deploy/web" is not a StatefulSet`},
		"Y8 by labels":           {args: []string{"pause", "-l", "tier=db"}, set: webSlice(labelled), wantOut: "web paused\n", check: isPaused(true)},
		"Y8 type and labels":     {args: []string{"restart", "sts", "--selector", "tier=db"}, set: webSlice(labelled), wantOut: "web restarted\n", check: restartedAt("2026-01-01T12:00:00Z")},
		"Y8 labels of none":      {args: []string{"restart", "-l", "tier=web"}, set: webSlice(labelled), wantErr: "No resources found in shop namespace.\n"},
		"Y8 labels and a name":   {args: []string{"restart", "-l", "tier=db", "web"}, set: webSlice(), want: 2, wantErr: "names exclude --selector"},
		"Y8 no labels":           {args: []string{"restart", "-l", "=="}, set: webSlice(), want: 2, wantErr: "--selector: "},
		"Y8 no name":             {args: []string{"restart"}, set: webSlice(), want: 2, wantErr: "takes a StatefulSet, or --selector"},
		"Y8 one of two":          {args: []string{"pause", "other", "web"}, set: webSlice(), want: 1, wantOut: "web paused\n", wantErr: "StatefulSet shop/other in cluster east", check: isPaused(true)},
		"Y8 undo of an applied":  {args: []string{"undo", "web"}, set: webSlice(newest, applied), more: two, wantOut: "rolled back\n", wantErr: "Warning: StatefulSet shop/web was written with kubectl apply", check: hasImage("web:1")},
		"Y8 restart as YAML":     {args: []string{"restart", "web", "-o", "yaml"}, set: webSlice(), wantOut: "restartedAt: \"2026-01-01T12:00:00Z\"", check: restartedAt("2026-01-01T12:00:00Z")},
		"S-006 undo":             {args: []string{"undo", "web"}, set: webSlice(newest), more: two, wantOut: "statefulset.apps.sliceshift.io/web rolled back\n", check: hasImage("web:1")},
		"undo to a revision":     {args: []string{"undo", "web", "--to-revision", "2"}, set: webSlice(), more: two, wantOut: "rolled back\n", check: hasImage("web:2")},
		"undo to what it is":     {args: []string{"undo", "web", "--to-revision", "1"}, set: webSlice(), more: two, wantOut: "web skipped rollback (current template already matches revision 1)\n"},
		"undo to nothing":        {args: []string{"undo", "web", "--to-revision", "7"}, set: webSlice(), more: two, want: 1, wantErr: "unable to find specified revision 7"},
		"nothing to undo":        {args: []string{"undo", "web"}, set: webSlice(), more: two[:1], want: 1, wantErr: "no last revision to roll back to"},
		"undo, dry run":          {args: []string{"undo", "web", "--dry-run"}, set: webSlice(newest), more: two, wantOut: "with revision #1\nPod Template:"},
		"undo, server dry run":   {args: []string{"undo", "web", "--dry-run=server"}, set: webSlice(newest), more: two, wantOut: "rolled back (server dry run)\n"},
		"undo of a paused one":   {args: []string{"undo", "web"}, set: webSlice(newest, pausedSlice), more: two, wantOut: "rolled back\n", wantErr: "its pods follow after: migrate rollout resume web -n shop --kubeconfig ", check: hasImage("web:1")},
		"undo, as YAML":          {args: []string{"undo", "web", "-o", "yaml"}, set: webSlice(newest), more: two, wantOut: "kind: StatefulSet", check: hasImage("web:1")},
		"pause":                  {args: []string{"pause", "web"}, set: webSlice(), wantOut: "statefulset.apps.sliceshift.io/web paused\n", check: isPaused(true)},
		"pause twice":            {args: []string{"pause", "web"}, set: webSlice(pausedSlice), wantOut: "statefulset.apps.sliceshift.io/web already paused\n"},
		"resume":                 {args: []string{"resume", "web"}, set: webSlice(pausedSlice, rollingPaused), wantOut: "statefulset.apps.sliceshift.io/web resumed\n", check: isPaused(false)},
		"resume without a block": {args: []string{"resume", "web"}, set: webSlice(pausedSlice, func(s *slicesapi.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate = nil }), wantOut: "resumed\n", check: isPaused(false)},
		"resume twice":           {args: []string{"resume", "web"}, set: webSlice(), wantOut: "already resumed\n"},
		"restart":                {args: []string{"restart", "slice/web"}, set: webSlice(), wantOut: "statefulset.apps.sliceshift.io/web restarted\n", check: restartedAt("2026-01-01T12:00:00Z")},
		"restart, name":          {args: []string{"restart", "web", "-o", "name"}, set: webSlice(), wantOut: "statefulset.apps.sliceshift.io/web\n", check: restartedAt("2026-01-01T12:00:00Z")},
		"restart of a paused":    {args: []string{"restart", "web"}, set: webSlice(rollingPaused), want: 1, wantErr: "can't restart paused StatefulSet shop/web in cluster east"},
		"restart in mid-move":    {args: []string{"restart", "web"}, set: webSlice(movingSlice), wantOut: "restarted\n", wantErr: "A migration drives StatefulSet shop/web", check: restartedAt("2026-01-01T12:00:00Z")},
		"undo in mid-move":       {args: []string{"undo", "web"}, set: webSlice(newest, movingSlice), more: two, wantOut: "rolled back\n", wantErr: "migrate status web -n shop", check: hasImage("web:1")},
		"U-03 undo in mid-roll-out goes back to the current revision": {
			args: []string{"undo", "web"}, set: webSlice(thirdOfThree), more: three, wantOut: "rolled back\n", check: hasImage("web:1"),
		},
		"U-03 undo in mid-roll-out, of a change that was not observed yet": {
			args: []string{"undo", "web"}, set: webSlice(thirdOfThree, func(s *slicesapi.StatefulSet) { s.Generation = 2; s.Spec.Template = podTemplate("web:4") }),
			more: three, wantOut: "rolled back\n", check: hasImage("web:1"),
		},
		"U-03 undo in mid-roll-out, when the current revision is gone": {
			args: []string{"undo", "web"}, set: webSlice(thirdOfThree), more: three[1:], wantOut: "rolled back\n", check: hasImage("web:2"),
		},
		"U-03 undo leaves claims as large as they are, and says so": {
			args: []string{"undo", "web"}, set: webSlice(newest, claiming("2Gi")), more: []client.Object{requested(two[0], "1Gi"), requested(two[1], "2Gi")},
			wantOut: "rolled back\n", wantErr: "StatefulSet shop/web: claim template data requested 1Gi in revision 1, and still requests 2Gi: no volume can shrink\n", check: hasImage("web:1"),
		},
		"U-03 undo of what claims request alone": {
			args: []string{"undo", "web"}, set: webSlice(claiming("2Gi"), updating), more: []client.Object{requested(two[0], "1Gi"), requested(keptRevision(2, "web:1", ""), "2Gi")},
			wantOut: "web skipped rollback (current template already matches revision 1)\n", wantErr: "still requests 2Gi: no volume can shrink\n",
		},
		"U-03 undo of claims that were as large": {
			args: []string{"undo", "web"}, set: webSlice(newest, claiming("1024Mi")), more: []client.Object{requested(two[0], "1Gi"), two[1]}, wantOut: "rolled back\n", check: hasImage("web:1"),
		},
		"restart twice": {args: []string{"restart", "web"}, set: webSlice(restartedSlice), want: 1, wantErr: "within the past second"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []client.Object{tc.set.DeepCopy()}
			for _, object := range tc.more {
				objects = append(objects, object.DeepCopyObject().(client.Object))
			}
			east := newServer(t, objects...)
			c := newConsole(append([]string{"rollout"}, append(tc.args, "-n", "shop", "--kubeconfig", east.Kubeconfig(t), "--request-timeout", "5s")...)...)
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

// thirdOfThree sets a rollout in progress to revision 3, after an unfinished one to revision 2.
func thirdOfThree(set *slicesapi.StatefulSet) {
	updating(set)
	set.Spec.Template, set.Status.UpdateRevision = podTemplate("web:3"), "web-3"
}

// claiming sets the request of the claim template data, with a strategy that rolls it out.
func claiming(size string) func(*slicesapi.StatefulSet) {
	return func(set *slicesapi.StatefulSet) {
		set.Spec.VolumeClaimUpdateStrategy = &slicesapi.VolumeClaimUpdateStrategy{Type: slicesapi.OnPodRollingUpdate}
		set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "data"},
			Spec: corev1.PersistentVolumeClaimSpec{
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
			},
		}}
	}
}

// requested returns a revision that records the request of the claim template data.
func requested(revision client.Object, size string) client.Object {
	out := revision.DeepCopyObject().(client.Object)
	out.SetAnnotations(map[string]string{history.ClaimsAnnotationKey: fmt.Sprintf(`{"data":%q}`, size)})
	return out
}

func labelled(set *slicesapi.StatefulSet) { set.Labels = map[string]string{"tier": "db"} }

func applied(set *slicesapi.StatefulSet) {
	set.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
}

func rollingPaused(set *slicesapi.StatefulSet) { set.Spec.UpdateStrategy.RollingUpdate.Paused = true }

func movingSlice(set *slicesapi.StatefulSet) {
	set.Annotations = map[string]string{slicesapi.MigratingAnnotationKey: "web.1"}
}

func restartedSlice(set *slicesapi.StatefulSet) {
	set.Spec.Template.Annotations = map[string]string{slicesapi.RestartedAtAnnotationKey: "2026-01-01T12:00:00Z"}
}

func hasImage(image string) func(*testing.T, *slicesapi.StatefulSet) {
	return func(t *testing.T, set *slicesapi.StatefulSet) {
		t.Helper()
		if got := set.Spec.Template.Spec.Containers; len(got) != 1 || got[0].Image != image {
			t.Errorf("containers %v, want image %s", got, image)
		}
	}
}

func isPaused(want bool) func(*testing.T, *slicesapi.StatefulSet) {
	return func(t *testing.T, set *slicesapi.StatefulSet) {
		t.Helper()
		if updatesPaused(set) != want {
			t.Errorf("paused: %v", !want)
		}
	}
}

func restartedAt(want string) func(*testing.T, *slicesapi.StatefulSet) {
	return func(t *testing.T, set *slicesapi.StatefulSet) {
		t.Helper()
		if got := set.Spec.Template.Annotations[slicesapi.RestartedAtAnnotationKey]; got != want {
			t.Errorf("restarted at %q", got)
		}
	}
}

// TestRolloutFollowed: a rollout is followed through a watch. Each state is printed once, and the command ends with the
// rollout.
func TestRolloutFollowed(t *testing.T) {
	east := newServer(t, webSlice(updating))
	c, shown := newConsole("rollout", "status", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t)), &commandtest.Terminal{}
	c.Out = shown
	code := c.Begin(t)
	set := func(change func(*slicesapi.StatefulSet)) {
		t.Helper()
		next := storedSlice(t, east)
		change(next)
		if err := east.Store.Update(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	shown.Await(t, "complete 1 pods at revision web-2")
	set(func(s *slicesapi.StatefulSet) { s.Status.UpdatedReplicas, s.Status.ReadyReplicas = 2, 2 })
	shown.Await(t, "Waiting for 1 pods to be ready...")
	set(func(s *slicesapi.StatefulSet) { s.Labels = map[string]string{"nothing": "new"} })
	set(webDone)
	if got := <-code; got != command.ExitDone {
		t.Errorf("exit code %d: %s", got, c.Stderr)
	}
	want := []string{
		"waiting for statefulset rolling update to complete 1 pods at revision web-2...",
		"Waiting for 1 pods to be ready...",
		"statefulset rolling update complete 3 pods at revision web-2...",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(shown.Shown()), "\n")); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func webDone(set *slicesapi.StatefulSet) {
	set.Status.UpdatedReplicas, set.Status.ReadyReplicas, set.Status.CurrentReplicas, set.Status.CurrentRevision = 3, 3, 3, "web-2"
	isReady("3 of 3 pods are available")(set)
}

// TestRolloutRefreshed: changes that the watch misses are found by polling.
func TestRolloutRefreshed(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*testing.T, *apitest.Server)
		want    int
		wantErr string
	}{
		"gone": {func(t *testing.T, s *apitest.Server) {
			t.Helper()
			if err := s.Store.Delete(t.Context(), webSlice()); err != nil {
				t.Error(err)
			}
		}, 1, "StatefulSet shop/web no longer exists in cluster east"},
		"made anew": {func(t *testing.T, s *apitest.Server) {
			t.Helper()
			next := storedSlice(t, s)
			next.UID = "another"
			if err := s.Store.Update(t.Context(), next); err != nil {
				t.Error(err)
			}
		}, 1, "StatefulSet shop/web was deleted from cluster east, and recreated"},
	} {
		t.Run(name, func(t *testing.T) {
			east := newServer(t, webSlice(updating))
			c := newConsole("rollout", "status", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
			code := c.Begin(t)
			c.AwaitWaiting(t)
			tc.change(t, east)
			if got := c.PassTime(t, code, command.RefreshEvery); got != tc.want || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("exit code %d, stderr %q", got, c.Stderr)
			}
		})
	}
}

func TestRolloutNotServed(t *testing.T) {
	east := apitest.Serve(t, nil)
	c := newConsole("rollout", "status", "web", "--kubeconfig", east.Kubeconfig(t))
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "cluster east does not serve apps.sliceshift.io/v1alpha1 StatefulSets: install") {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
}

// TestRolloutConflict: undo does not overwrite a concurrent change.
func TestRolloutConflict(t *testing.T) {
	stale := webSlice()
	east := newServer(t, stale, keptRevision(2, "web:2", ""))
	c := newConsole("rollout", "undo", "web", "-n", "shop", "--kubeconfig", east.Kubeconfig(t))
	east.Before = overtaken(t, east)
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "StatefulSet shop/web was changed meanwhile") {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
	hasImage("web:1")(t, storedSlice(t, east))
}
