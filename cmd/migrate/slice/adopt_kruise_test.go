package slice

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/golden"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// kruiseSet returns a settled shop/web of OpenKruise, with the fields beyond apps/v1 that our kind also has.
func kruiseSet(changes ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(new(podTemplate("web:1")))
	if err != nil {
		panic(err)
	}
	set := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"replicas": int64(3), "serviceName": "web", "podManagementPolicy": "Parallel",
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": template,
			"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{
				"partition": int64(0), "maxUnavailable": int64(1), "podUpdatePolicy": "ReCreate", "paused": false, "minReadySeconds": int64(0),
			}},
			"volumeClaimUpdateStrategy": map[string]any{}, "reserveOrdinals": []any{int64(1)}, "scaleStrategy": map[string]any{"maxUnavailable": "50%"},
			"lifecycle": map[string]any{"preDelete": map[string]any{"labelsHandler": map[string]any{"leave": "cluster"}}},
		},
		"status": map[string]any{
			"observedGeneration": int64(1), "replicas": int64(3), "readyReplicas": int64(3), "availableReplicas": int64(3), "currentReplicas": int64(3),
			"updatedReplicas": int64(3), "currentRevision": "web-1", "updateRevision": "web-1",
		},
	}}
	set.SetGroupVersionKind(kruiseVersion.WithKind("StatefulSet"))
	set.SetNamespace("shop")
	set.SetName("web")
	set.SetUID("kruise")
	set.SetGeneration(1)
	for _, change := range changes {
		change(set)
	}
	return set
}

// said sets a field of a StatefulSet of OpenKruise.
func said(value any, path ...string) func(*unstructured.Unstructured) {
	return func(set *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(set.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func rollingSaid(value any, field string) func(*unstructured.Unstructured) {
	return said(value, "spec", "updateStrategy", "rollingUpdate", field)
}

// kruisePods returns the pods of shop/web, without the reserved ordinal, and their revision.
func kruisePods(changes ...func(*corev1.Pod)) []client.Object {
	owner := []metav1.OwnerReference{{APIVersion: kruiseVersion.String(), Kind: "StatefulSet", Name: "web", UID: "kruise", Controller: new(true)}}
	revision := keptRevision(1, "web:1", "")
	revision.OwnerReferences = owner
	objects := []client.Object{revision}
	for _, ordinal := range []int{0, 2, 3} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprint("web-", ordinal), OwnerReferences: owner,
			Labels: map[string]string{"app": "web", appsv1.StatefulSetRevisionLabel: "web-1", kruiseStateKey: "Normal"},
		}}
		if ordinal == 2 {
			for _, change := range changes {
				change(pod)
			}
		}
		objects = append(objects, pod)
	}
	return objects
}

func kruiseArgs(t *testing.T, s *apitest.Server, more ...string) []string {
	t.Helper()
	return adoptArgs(t, s, append([]string{"--from", "kruise"}, more...)...)
}

// TestAdoptKruise: the StatefulSet of OpenKruise is deleted without its pods, and ours is created.
func TestAdoptKruise(t *testing.T) {
	t.Run("U-06 from OpenKruise", func(t *testing.T) {
		files := commandtest.InTemp(t)
		east := apitest.Serve(t, kruiseResources(), append(kruisePods(), kruiseSet())...)
		c := newConsole(kruiseArgs(t, east)...)
		if code := c.PassTime(t, c.Begin(t), pollEvery); code != command.ExitDone || c.Stdout.String() != "statefulset.apps.sliceshift.io/web adopted\n" || c.Stderr.Len() > 0 {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, c.Stdout, c.Stderr)
		}
		if diff := cmp.Diff([]string{"DELETE apps.kruise.io/web", "POST apps.sliceshift.io/web"}, east.Wrote()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		if left := files(); len(left) > 0 {
			t.Errorf("files %v are left", left)
		}
		again := newConsole(kruiseArgs(t, east)...)
		if code := again.Run(t); code != command.ExitDone || !strings.Contains(again.Stdout.String(), "web is of apps.sliceshift.io/v1alpha1 already\n") {
			t.Errorf("again: exit code %d, stdout %q, stderr %q", code, again.Stdout, again.Stderr)
		}
	})
	t.Run("U-06 what would be created", func(t *testing.T) {
		east := apitest.Serve(t, kruiseResources(), append(kruisePods(), kruiseSet(rollingSaid(int64(2), "partition")))...)
		c := newConsole(kruiseArgs(t, east, "--dry-run")...)
		if code := c.Run(t); code != command.ExitDone || len(east.Wrote()) > 0 {
			t.Errorf("exit code %d, stderr %q, writes %v", code, c.Stderr, east.Wrote())
		}
		golden.Compare(t, "adopt_kruise.yaml", c.Stdout.String())
	})
	t.Run("U-06 what OpenKruise does otherwise is told", func(t *testing.T) {
		east := apitest.Serve(t, kruiseResources(), append(kruisePods(), kruiseSet(
			rollingSaid("30%", "maxUnavailable"),
		))...)
		c := newConsole(kruiseArgs(t, east, "--dry-run")...)
		if code := c.Run(t); code != command.ExitDone || !strings.Contains(c.Stderr.String(), "maxUnavailable 30% is rounded up here, and down by OpenKruise") {
			t.Errorf("exit code %d, stderr %q", code, c.Stderr)
		}
	})
}

// TestKruiseTemplate: parts of OpenKruise in the template are kept, with a warning.
func TestKruiseTemplate(t *testing.T) {
	set := kruiseSet(
		said("Ordered", "spec", "template", "metadata", "annotations", "apps.kruise.io/container-launch-priority"),
		said([]any{map[string]any{"conditionType": "KruisePodReady"}}, "spec", "template", "spec", "readinessGates"),
	)
	c := newConsole()
	a := &adoption{adoptOptions: &adoptOptions{named: named{Common: command.NewCommon(c.Environment)}}, new: set}
	a.warnKruise()
	for _, want := range []string{"apps.kruise.io/container-launch-priority stays in the template", "readiness gate KruisePodReady: new pods get Ready only while OpenKruise is installed"} {
		if !strings.Contains(c.Stderr.String(), want) {
			t.Errorf("stderr %q, want %q in it", c.Stderr, want)
		}
	}
}

// TestAdoptKruiseRefused: unsupported settings are listed with a remedy, and nothing is changed.
func TestAdoptKruiseRefused(t *testing.T) {
	unordered := map[string]any{"priorityStrategy": map[string]any{"orderPriority": []any{map[string]any{"orderedKey": "rank"}}}}
	for name, tc := range map[string]struct {
		set     *unstructured.Unstructured
		pods    []client.Object
		args    []string
		want    int
		wantErr []string
	}{
		"U-06 fields that ours does not have": {
			set: kruiseSet(said(map[string]any{"labelsHandler": map[string]any{}}, "spec", "lifecycle", "preNormal"), said(true, "spec", "shiny"), rollingSaid(int64(1), "canary")),
			wantErr: []string{
				"cluster east: apps.kruise.io/v1beta1 StatefulSet shop/web is not adopted, and nothing was changed",
				`apps.sliceshift.io/v1alpha1 does not have it: unknown field "spec.lifecycle.preNormal": clear it`, `"spec.shiny"`, `"spec.updateStrategy.rollingUpdate.canary"`,
			},
		},
		"U-06 a partition of any pods": {
			set:     kruiseSet(rollingSaid(int64(2), "partition"), rollingSaid(unordered, "unorderedUpdate")),
			wantErr: []string{"partition keeps 2 pods of any ordinal", "set partition to 0, or remove unorderedUpdate"},
		},
		"U-06 annotations and labels": {
			set: kruiseSet(
				said("5", "metadata", "annotations", "apps.kruise.io/image-predownload-parallelism"), said("x", "metadata", "annotations", "apps.kruise.io/other"),
				said("Always", "metadata", "labels", "policy.kruise.io/delete-protection"),
			),
			wantErr: []string{
				"its annotation apps.kruise.io/image-predownload-parallelism: remove it, and set updateStrategy.rollingUpdate.prePull afterwards",
				"its annotation apps.kruise.io/other: nobody acts on it here: remove it",
				"its label policy.kruise.io/delete-protection: OpenKruise would refuse the deletion",
			},
		},
		"U-06 a pod that is asked to go": {
			pods:    kruisePods(func(p *corev1.Pod) { p.Labels[kruiseDeleteKey] = "true" }),
			wantErr: []string{"pod web-2 is asked to go (label apps.kruise.io/specified-delete): wait until it is made anew"},
		},
		"U-06 a pod that is being updated in place": {
			pods:    kruisePods(func(p *corev1.Pod) { p.Labels[kruiseStateKey] = "Updating" }),
			wantErr: []string{"pod web-2 is in the state Updating", "wait until it is Normal"},
		},
		"U-06 a pod of another revision": {
			pods:    kruisePods(func(p *corev1.Pod) { p.Labels[appsv1.StatefulSetRevisionLabel] = "web-0" }),
			wantErr: []string{`pod web-2 has the revision "web-0", not web-1, and would be made anew`},
		},
		"U-06 a revision that is gone": {
			pods:    kruisePods()[1:],
			wantErr: []string{"its ControllerRevision web-1 is gone, and every pod would be made anew"},
		},
		"U-06 a revision of another template": {
			set:     kruiseSet(said([]any{map[string]any{"name": "web", "image": "web:2"}}, "spec", "template", "spec", "containers")),
			wantErr: []string{"its template is not the one of its ControllerRevision web-1, and every pod would be made anew"},
		},
		"U-06 a roll-out": {
			set:     kruiseSet(said("web-2", "status", "updateRevision"), said(int64(1), "status", "updatedReplicas")),
			wantErr: []string{"a roll-out is under way, from revision web-1 to web-2"},
		},
		"U-06 a reserved ordinal that is none": {
			set: kruiseSet(said([]any{"5-3"}, "spec", "reserveOrdinals"), rollingSaid(int64(2), "partition")), wantErr: []string{`reserveOrdinals "5-3"`, "correct it"},
		},
		"from OpenKruise to apps/v1": {args: []string{"--to", "apps"}, want: command.ExitUsage, wantErr: []string{"--from kruise is for --to apps.sliceshift.io only"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := commandtest.InTemp(t)
			if tc.set == nil {
				tc.set = kruiseSet()
			}
			if tc.pods == nil {
				tc.pods = kruisePods()
			}
			if tc.want == 0 {
				tc.want = command.ExitStalled
			}
			east := apitest.Serve(t, kruiseResources(), append(tc.pods, tc.set)...)
			c := newConsole(kruiseArgs(t, east, tc.args...)...)
			if code := c.Run(t); code != tc.want || c.Stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d; stdout %q, stderr %q", code, tc.want, c.Stdout, c.Stderr)
			}
			for _, want := range tc.wantErr {
				if !strings.Contains(c.Stderr.String(), want) {
					t.Errorf("stderr %q, want %q in it", c.Stderr, want)
				}
			}
			if wrote, left := east.Wrote(), files(); len(wrote) > 0 || len(left) > 0 {
				t.Errorf("writes %v, files %v", wrote, left)
			}
		})
	}
}

// TestAdoptKruiseMissing: if the StatefulSet is not found, the error names another kind that exists.
func TestAdoptKruiseMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		served  bool
		args    []string
		wantErr string
	}{
		"it is OpenKruise's":       {true, nil, "no apps/v1 StatefulSet shop/web in cluster east, but one of OpenKruise: repeat the command with --from kruise"},
		"OpenKruise is not served": {false, []string{"--from", "kruise"}, "no apps.kruise.io/v1beta1 StatefulSet shop/web in cluster east"},
	} {
		t.Run(name, func(t *testing.T) {
			commandtest.InTemp(t)
			east := newServer(t)
			if tc.served {
				east = apitest.Serve(t, kruiseResources(), kruiseSet())
			}
			c := newConsole(adoptArgs(t, east, tc.args...)...)
			if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), tc.wantErr) {
				t.Errorf("exit code %d, stderr %q", code, c.Stderr)
			}
		})
	}
}

// TestKruiseInterrupted: if ours cannot be created, the manifest is saved, and the error says how to use it.
func TestKruiseInterrupted(t *testing.T) {
	files := commandtest.InTemp(t)
	east := apitest.Serve(t, kruiseResources(), append(kruisePods(), kruiseSet())...)
	east.Before = func(r *http.Request) error {
		if r.Method == http.MethodPost && r.URL.Query().Get("dryRun") == "" {
			return forbidden()
		}
		return nil
	}
	c := newConsole(kruiseArgs(t, east)...)
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "get statefulsets.apps.kruise.io web -n shop\n") || len(files()) != 1 {
		t.Errorf("exit code %d, stderr %q, files %v", code, c.Stderr, files())
	}
	again := newConsole(kruiseArgs(t, east)...)
	if code := again.Run(t); code != command.ExitFailure || !strings.Contains(again.Stderr.String(), "shop-web.statefulset.yaml of an earlier try is here: kubectl --kubeconfig ") {
		t.Errorf("again: exit code %d, stderr %q", code, again.Stderr)
	}
}

// TestConvertKruisePartition: the same pods are kept, which OpenKruise counts.
func TestConvertKruisePartition(t *testing.T) {
	for name, tc := range map[string]struct {
		start, replicas int64
		reserved        []any
		kept, want      int64
	}{
		"U-06 none is kept":                {5, 3, nil, 0, 0},
		"U-06 from the first":              {0, 3, nil, 2, 2},
		"U-06 from an ordinal":             {5, 3, nil, 2, 7},
		"U-06 reserved ones do not count":  {0, 3, []any{int64(1)}, 2, 3},
		"U-06 nor do ranges":               {2, 4, []any{"3-5", int64(7)}, 2, 7},
		"U-06 nor those below the first":   {2, 3, []any{int64(0), int64(1)}, 1, 3},
		"U-06 all of them":                 {5, 3, nil, 3, 8},
		"U-06 more than there are":         {5, 3, []any{int64(5)}, 9, 9},
		"U-06 of none":                     {5, 0, []any{int64(6)}, 2, 8},
		"U-06 of none, more than can ever": {5, 0, nil, 2147483647, 1000005},
	} {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{
				"replicas": tc.replicas, "ordinals": map[string]any{"start": tc.start},
				"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": tc.kept}},
			}
			if tc.reserved != nil {
				spec["reserveOrdinals"] = tc.reserved
			}
			convertKruise(spec)
			if got, _, _ := unstructured.NestedInt64(spec, "updateStrategy", "rollingUpdate", "partition"); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

// TestKruisePartitionKeepsAsMany: with any reserved ordinals, the partition keeps as many of the lowest ordinals as
// OpenKruise does.
func TestKruisePartitionKeepsAsMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas, kept := rapid.Int64Range(1, 8).Draw(t, "replicas"), rapid.Int64Range(1, 12).Draw(t, "kept")
		reserved := []any{}
		for _, ordinal := range rapid.SliceOfN(rapid.Int64Range(0, 15), 0, 6).Draw(t, "reserved") {
			reserved = append(reserved, ordinal)
		}
		spec := map[string]any{
			"replicas": replicas, "ordinals": map[string]any{"start": rapid.Int64Range(0, 9).Draw(t, "start")}, "reserveOrdinals": reserved,
			"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": kept}},
		}
		convertKruise(spec)
		set, err := sliceOf(map[string]any{"spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		known, err := decide.SpecOf(set)
		if err != nil {
			t.Fatal(err)
		}
		below := int64(0)
		for _, ordinal := range known.Ordinals() {
			if ordinal < known.Partition {
				below++
			}
		}
		if below != min(kept, replicas) {
			t.Errorf("%d of %v are below %d, want %d", below, known.Ordinals(), known.Partition, min(kept, replicas))
		}
	})
}
