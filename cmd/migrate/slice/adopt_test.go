package slice

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/apitest"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/commandtest"
	"github.com/sliceshift/sliceshift/internal/golden"
)

// nativeSet returns a settled shop/<name> of apps/v1.
func nativeSet(name string, changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: "native", Generation: 1, Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "note": "keep"},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web:1"), ServiceName: "web",
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))},
			},
		},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: 1, Replicas: 3, ReadyReplicas: 3, CurrentReplicas: 3, UpdatedReplicas: 3, CurrentRevision: "web-1", UpdateRevision: "web-1",
		},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

// gated adds readiness gates to the template.
func gated(gates ...corev1.PodConditionType) func(*slicesapi.StatefulSet) {
	return func(s *slicesapi.StatefulSet) {
		for _, gate := range gates {
			s.Spec.Template.Spec.ReadinessGates = append(s.Spec.Template.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: gate})
		}
	}
}

// overtaken changes shop/web after it was read.
func overtaken(t *testing.T, s *apitest.Server) func(*http.Request) error {
	t.Helper()
	return func(r *http.Request) error {
		if r.Method != http.MethodPatch && r.Method != http.MethodDelete {
			return nil
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(s.KindOf(r))
		if err := s.Store.Get(r.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, object); err != nil {
			return err
		}
		object.SetLabels(map[string]string{"touched": "true"})
		return s.Store.Update(r.Context(), object)
	}
}

func adoptArgs(t *testing.T, s *apitest.Server, more ...string) []string {
	t.Helper()
	return append([]string{"adopt", "web", "-n", "shop", "--kubeconfig", s.Kubeconfig(t), "--request-timeout", "5s"}, more...)
}

// TestAdopt: each direction, without the work of the controllers.
func TestAdopt(t *testing.T) {
	for name, tc := range map[string]struct {
		from client.Object
		to   string
		want []string
		out  string
	}{
		"to ours":    {nativeSet("web"), "apps.sliceshift.io", []string{"DELETE apps/web", "POST apps.sliceshift.io/web"}, "statefulset.apps.sliceshift.io/web adopted\n"},
		"to apps/v1": {webSlice(), "apps", []string{"DELETE apps.sliceshift.io/web", "POST apps/web"}, "statefulset.apps/web adopted\n"},
		"X-14: to apps/v1, with a readiness gate of somebody else": {
			webSlice(gated("example.com/up")), "apps",
			[]string{"DELETE apps.sliceshift.io/web", "POST apps/web"},
			"statefulset.apps/web adopted\n",
		},
		"to apps/v1, without its controller": {
			webSlice(func(s *slicesapi.StatefulSet) { s.Finalizers = []string{slicesapi.Finalizer} }), "apps",
			[]string{"DELETE apps.sliceshift.io/web", "PATCH apps.sliceshift.io/web", "POST apps/web"},
			"statefulset.apps/web adopted\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := commandtest.InTemp(t)
			east := newServer(t, tc.from)
			c := newConsole(adoptArgs(t, east, "--to", tc.to)...)
			if code := c.PassTime(t, c.Begin(t), pollEvery); code != command.ExitDone || c.Stdout.String() != tc.out {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, c.Stdout, c.Stderr)
			}
			if diff := cmp.Diff(tc.want, east.Wrote()); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			if left := files(); len(left) > 0 {
				t.Errorf("files %v are left", left)
			}
			again := newConsole(adoptArgs(t, east, "--to", tc.to)...)
			if code := again.Run(t); code != command.ExitDone || !strings.Contains(again.Stdout.String(), " already\n") || len(east.Wrote()) != len(tc.want) {
				t.Errorf("again: exit code %d, stdout %q, stderr %q", code, again.Stdout, again.Stderr)
			}
		})
	}
}

// TestAdoptManifest: a dry run prints the manifest.
func TestAdoptManifest(t *testing.T) {
	for name, tc := range map[string]struct {
		from client.Object
		to   string
	}{
		"adopt_to_ours.yaml": {nativeSet("web", func(s *appsv1.StatefulSet) {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5}
			s.Spec.UpdateStrategy.RollingUpdate.Partition = new(int32(2))
		}), "apps.sliceshift.io"},
		"adopt_to_apps.yaml": {webSlice(partitioned(7), func(s *slicesapi.StatefulSet) {
			s.Spec.Ordinals = &slicesapi.Ordinals{Start: 5}
			s.Spec.ProgressDeadlineSeconds = new(int32(600))
			s.Spec.VolumeClaimUpdateStrategy = &slicesapi.VolumeClaimUpdateStrategy{Type: slicesapi.OnClaimDelete}
			s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = slicesapi.ReCreate
			s.Spec.UpdateStrategy.RollingUpdate.OnFailure = slicesapi.Halt
		}), "apps"},
	} {
		t.Run(name, func(t *testing.T) {
			east := newServer(t, tc.from)
			c := newConsole(adoptArgs(t, east, "--to", tc.to, "--dry-run")...)
			if code := c.Run(t); code != command.ExitDone || len(east.Wrote()) > 0 {
				t.Errorf("exit code %d, stderr %q, writes %v", code, c.Stderr, east.Wrote())
			}
			golden.Compare(t, name, c.Stdout.String())
		})
	}
}

// TestAdoptRefused: problems are listed, and nothing is changed.
func TestAdoptRefused(t *testing.T) {
	controlled := []metav1.OwnerReference{{APIVersion: "db.example/v1", Kind: "Database", Name: "orders", UID: "db", Controller: new(true)}}
	for name, tc := range map[string]struct {
		objects []client.Object
		to      string
		before  func(*http.Request) error
		want    int
		wantErr []string
	}{
		"an operator drives it": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) { s.OwnerReferences = controlled })},
			wantErr: []string{"cluster east: apps/v1 StatefulSet shop/web is not adopted, and nothing was changed", "it belongs to Database orders"},
		},
		"a migration drives it": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) { s.Annotations[api.FenceAnnotationKey] = "m.1" })},
			wantErr: []string{"a migration drives it", "migrate status web -n shop"},
		},
		"a finalizer": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) { s.Finalizers = []string{"db.example/clean"} })},
			wantErr: []string{"it has the finalizers db.example/clean"},
		},
		"a roll-out and an operator": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) {
				s.OwnerReferences, s.Status.UpdateRevision, s.Status.UpdatedReplicas = controlled, "web-2", 1
			})},
			wantErr: []string{"it belongs to Database orders", "a roll-out is under way, from revision web-1 to web-2"},
		},
		"a change that was not seen": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) { s.Generation = 2 })},
			wantErr: []string{"its controller has not seen its latest change"},
		},
		"scaled": {
			objects: []client.Object{nativeSet("web", func(s *appsv1.StatefulSet) { s.Status.Replicas = 2 })},
			wantErr: []string{"it is being scaled, 2 pods of 3 are there"},
		},
		"both exist": {
			objects: []client.Object{nativeSet("web"), webSlice()},
			wantErr: []string{"cluster east has both apps/v1 StatefulSet shop/web and apps.sliceshift.io/v1alpha1 StatefulSet shop/web"},
		},
		"apps/v1 cannot say it": {
			objects: []client.Object{webSlice(func(s *slicesapi.StatefulSet) {
				s.Spec.Paused, s.Spec.ReserveOrdinals = true, []intstr.IntOrString{intstr.FromInt32(1)}
				s.Spec.UpdateStrategy.Type, s.Spec.UpdateStrategy.RollingUpdate = slicesapi.Recreate, nil
				s.Spec.VolumeClaimUpdateStrategy = &slicesapi.VolumeClaimUpdateStrategy{Type: slicesapi.OnPodRollingUpdate}
				s.Spec.ProgressDeadlineSeconds = new(int32(60))
			})},
			to: "apps",
			wantErr: []string{
				`"spec.paused"`, `"spec.reserveOrdinals"`, `"spec.volumeClaimUpdateStrategy"`, `"spec.progressDeadlineSeconds"`, "updateStrategy.type Recreate",
			},
		},
		"apps/v1 cannot say it of a roll-out": {
			objects: []client.Object{webSlice(func(s *slicesapi.StatefulSet) {
				s.Spec.UpdateStrategy.RollingUpdate.MaxSurge = new(intstr.FromInt32(1))
				s.Spec.UpdateStrategy.RollingUpdate.PodUpdatePolicy = slicesapi.InPlaceOnly
			})},
			to: "apps", wantErr: []string{`"spec.updateStrategy.rollingUpdate.maxSurge"`, `"spec.updateStrategy.rollingUpdate.podUpdatePolicy"`},
		},
		"X-14: its pods would never be Ready under apps/v1": {
			objects: []client.Object{webSlice(gated("example.com/up", slicesapi.InPlaceUpdateReady))},
			to:      "apps",
			wantErr: []string{"the readiness gate InPlaceUpdateReady", `--type json -p '[{"op":"remove","path":"/spec/template/spec/readinessGates/1"}]'`},
		},
		"the API server would not create it": {
			objects: []client.Object{nativeSet("web")},
			before: func(r *http.Request) error {
				if r.Method == http.MethodPost {
					return apierrors.NewBadRequest("the name is too long")
				}
				return nil
			},
			wantErr: []string{"the API server would not create it: the name is too long"},
		},
		"nothing there":         {want: command.ExitFailure, wantErr: []string{"no apps/v1 StatefulSet shop/web in cluster east; look for it: kubectl --kubeconfig ", " --context east get statefulsets.apps -A\n"}},
		"nothing to take back":  {to: "apps", want: command.ExitFailure, wantErr: []string{"look for it: kubectl --kubeconfig ", " --context east get statefulsets.apps.sliceshift.io -A\n"}},
		"changed meanwhile":     {objects: []client.Object{nativeSet("web")}, want: command.ExitFailure, before: errDeleteOnly(conflict()), wantErr: []string{"was changed meanwhile, and nothing was done"}},
		"it may not be deleted": {objects: []client.Object{nativeSet("web")}, want: command.ExitFailure, before: errDeleteOnly(forbidden()), wantErr: []string{"cluster east: deleting apps/v1 StatefulSet shop/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := commandtest.InTemp(t)
			east := newServer(t, tc.objects...)
			east.Before = tc.before
			if tc.to == "" {
				tc.to = "apps.sliceshift.io"
			}
			if tc.want == 0 {
				tc.want = command.ExitStalled
			}
			c := newConsole(adoptArgs(t, east, "--to", tc.to)...)
			if code := c.Run(t); code != tc.want || c.Stdout.Len() > 0 {
				t.Errorf("exit code %d, want %d; stdout %q", code, tc.want, c.Stdout)
			}
			for _, want := range tc.wantErr {
				if !strings.Contains(c.Stderr.String(), want) {
					t.Errorf("stderr %q, want %q in it", c.Stderr, want)
				}
			}
			if wrote := east.Wrote(); len(wrote) > 0 {
				t.Errorf("writes %v", wrote)
			}
			if left := files(); len(left) > 0 {
				t.Errorf("files %v are left", left)
			}
		})
	}
}

func conflict() error {
	return apierrors.NewConflict(appsv1.Resource("statefulsets"), "web", errors.New("precondition failed"))
}

func forbidden() error { return apierrors.NewForbidden(appsv1.Resource("statefulsets"), "web", nil) }

func errDeleteOnly(err error) func(*http.Request) error {
	return func(r *http.Request) error {
		if r.Method == http.MethodDelete {
			return err
		}
		return nil
	}
}

// TestAdoptOvertaken: only the object that was checked is deleted.
func TestAdoptOvertaken(t *testing.T) {
	commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.Before = overtaken(t, east)
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "was changed meanwhile, and nothing was done") {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
	if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &appsv1.StatefulSet{}); err != nil {
		t.Error(err)
	}
}

// TestAdoptUnfinished: if the creation fails, the manifest is saved, and the error says how to use it.
func TestAdoptUnfinished(t *testing.T) {
	files := commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.Before = func(r *http.Request) error {
		if r.Method == http.MethodPost && r.URL.Query().Get("dryRun") == "" {
			return apierrors.NewForbidden(slicesapi.GroupVersion.WithResource("statefulsets").GroupResource(), "web", errors.New("quota"))
		}
		return nil
	}
	kubeconfig := east.Kubeconfig(t)
	c := newConsole("adopt", "web", "-n", "shop", "--kubeconfig", kubeconfig, "--context", "east")
	if code := c.Run(t); code != command.ExitFailure {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"cluster east: creating apps.sliceshift.io/v1alpha1 StatefulSet shop/web:", "quota", "The pods run, but no controller manages them",
		"  kubectl --kubeconfig " + kubeconfig + " --context east get statefulsets.apps web -n shop\n",
		"  kubectl --kubeconfig " + kubeconfig + " --context east create -f shop-web.statefulset.yaml\n",
	} {
		if !strings.Contains(c.Stderr.String(), want) {
			t.Errorf("stderr %q, want %q in it", c.Stderr, want)
		}
	}
	if diff := cmp.Diff([]string{"shop-web.statefulset.yaml"}, files()); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	data, err := os.ReadFile("shop-web.statefulset.yaml")
	if err != nil || !strings.Contains(string(data), "apiVersion: apps.sliceshift.io/v1alpha1") {
		t.Errorf("%v, manifest %s", err, data)
	}
	again := newConsole("adopt", "web", "-n", "shop", "--kubeconfig", kubeconfig)
	if code := again.Run(t); code != command.ExitFailure || !strings.Contains(again.Stderr.String(), "shop-web.statefulset.yaml of an earlier try is here: kubectl --kubeconfig "+kubeconfig+" --context east create -f") {
		t.Errorf("again: exit code %d, stderr %q", code, again.Stderr)
	}
}

// TestAdoptLostAnswer: a successful creation is recognised although its answer was lost.
func TestAdoptLostAnswer(t *testing.T) {
	commandtest.InTemp(t)
	east := newServer(t, nativeSet("web"))
	east.Before = func(r *http.Request) error {
		if r.Method != http.MethodPost || r.URL.Query().Get("dryRun") != "" {
			return nil
		}
		if err := east.Store.Create(r.Context(), webSlice()); err != nil {
			return err
		}
		return apierrors.NewTimeoutError("no answer", 1)
	}
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitDone || !strings.Contains(c.Stdout.String(), "web adopted") {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
}

// TestAdoptManifestKept: the manifest of an earlier attempt is not overwritten.
func TestAdoptManifestKept(t *testing.T) {
	commandtest.InTemp(t)
	if err := os.WriteFile("shop-web.statefulset.yaml", []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	east := newServer(t, nativeSet("web"))
	c := newConsole(adoptArgs(t, east)...)
	if code := c.Run(t); code != command.ExitFailure || !strings.Contains(c.Stderr.String(), "shop-web.statefulset.yaml exists already") || len(east.Wrote()) > 0 {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
}

// TestAdoptWarns: objects that name the old kind are listed in warnings.
func TestAdoptWarns(t *testing.T) {
	commandtest.InTemp(t)
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "load"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web"},
		},
	}
	east := newServer(t, nativeSet("web"), scaler)
	c := newConsole(adoptArgs(t, east, "--dry-run")...)
	want := "warning: HorizontalPodAutoscaler shop/load names apps/v1 StatefulSet shop/web and will not find it: set its spec.scaleTargetRef.apiVersion to apps.sliceshift.io/v1alpha1\n"
	if code := c.Run(t); code != command.ExitDone || c.Stderr.String() != want {
		t.Errorf("exit code %d, stderr %q", code, c.Stderr)
	}
}

// TestAdoptOnDelete: a set with OnDelete is adopted although the current revision of apps/v1 never catches up.
func TestAdoptOnDelete(t *testing.T) {
	set := nativeSet("web", func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
		s.Status.UpdateRevision = "web-2"
	})
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		t.Fatal(err)
	}
	a := &adoption{old: &unstructured.Unstructured{Object: content}}
	if problems := a.changesUnderWay(); len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
	_ = unstructured.SetNestedField(content, int64(2), "status", "updatedReplicas")
	if problems := a.changesUnderWay(); len(problems) != 1 {
		t.Errorf("problems %v", problems)
	}
}
