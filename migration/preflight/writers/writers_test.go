package writers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/workload"
)

// side returns a side whose API server has the objects. Requests for the failing kind are answered with an error.
func side(fails string, with error, objects ...client.Object) endpoint.Endpoint {
	failing := func(object runtime.Object) error {
		kind := object.GetObjectKind().GroupVersionKind().Kind + fmt.Sprintf("%T", object)
		if fails != "" && strings.Contains(kind, fails) {
			return with
		}
		return nil
	}
	live := fake.NewClientBuilder().WithScheme(clusters.NewScheme()).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if err := failing(o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, options ...client.ListOption) error {
			if err := failing(o); err != nil {
				return err
			}
			return c.List(ctx, o, options...)
		},
	}).Build()
	return endpoint.Endpoint{Cluster: "east", Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: live}
}

// object returns an object of a kind that the scheme does not know.
func object(apiVersion, kind, name string, fields map[string]any) client.Object {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	for path, value := range fields {
		if err := unstructured.SetNestedField(u.Object, value, strings.Split(path, "|")...); err != nil {
			panic(err)
		}
	}
	u.SetNamespace("shop")
	u.SetName(name)
	return u
}

var (
	forbidden = apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no right"))
	unserved  = &meta.NoKindMatchError{}
	errAway   = errors.New("no route to host")
)

// want describes a finding. Its message and remedy must contain the words.
type want struct {
	reason  string
	warning bool
	says    string
	remedy  string
}

func check(t *testing.T, found []plan.Finding, err error, want []want) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(want) {
		t.Fatalf("found %+v, want %d", found, len(want))
	}
	for i, each := range want {
		f := found[i]
		if diff := cmp.Diff(plan.Finding{Reason: each.reason, Object: "StatefulSet shop/web in cluster east", Warning: each.warning}, f, cmpopts.IgnoreFields(plan.Finding{}, "Message", "Remedy")); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if !strings.Contains(f.Message, each.says) || !strings.Contains(f.Remedy, each.remedy) || f.Remedy == "" {
			t.Errorf("message %q, want %q\nremedy %q, want %q", f.Message, each.says, f.Remedy, each.remedy)
		}
	}
}

// TestOperator: the pause of an operator is the remedy, and a paused operator is a warning (I9).
func TestOperator(t *testing.T) {
	cluster := func(fields map[string]any) []client.Object {
		return []client.Object{object("rabbitmq.com/v1beta1", "RabbitmqCluster", "queue", fields)}
	}
	refused := func(remedy string) []want {
		return []want{{api.ReasonOwnedByOperator, false, "controlled by RabbitmqCluster queue, which would restore replicas", remedy}}
	}
	const patch = `kubectl patch rabbitmqcluster.rabbitmq.com -n shop queue --type=merge -p '{"metadata":{"labels":{"rabbitmq.com/pauseReconciliation":"true"}}}'`
	for name, tc := range map[string]struct {
		objects []client.Object
		get     error
		want    []want
	}{
		"it runs":             {cluster(nil), nil, refused(patch)},
		"it is paused":        {cluster(map[string]any{"metadata|labels|rabbitmq.com/pauseReconciliation": "true"}), nil, []want{{api.ReasonOwnedByOperator, true, "which is paused", "leave it paused"}}},
		"another value":       {cluster(map[string]any{"metadata|labels|rabbitmq.com/pauseReconciliation": "false"}), nil, refused(patch)},
		"its owner is gone":   {nil, nil, refused(patch)},
		"it may not be read":  {nil, forbidden, refused("the right to get it")},
		"it is not served":    {nil, unserved, refused(patch)},
		"labels of no object": {cluster(map[string]any{"metadata|labels": map[string]any{}}), nil, refused(patch)},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue", Controller: new(true)}}}}
			found, err := Operator(t.Context(), side("RabbitmqCluster", tc.get, tc.objects...), set, false)
			check(t, found, err, tc.want)
		})
	}
	owners := func(owner metav1.OwnerReference) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{owner}}}
	}
	t.Run("nobody", func(t *testing.T) {
		found, err := Operator(t.Context(), side("", nil), owners(metav1.OwnerReference{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue"}), false)
		check(t, found, err, nil)
	})
	t.Run("an unknown one", func(t *testing.T) {
		found, err := Operator(t.Context(), side("Thing", errAway), owners(metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "a", Controller: new(true)}), false)
		check(t, found, err, []want{{api.ReasonOwnedByOperator, false, "controlled by Thing a", `kubectl patch sts -n shop web --type=json -p '[{"op":"remove","path":"/metadata/ownerReferences"}]'`}})
	})
	t.Run("nobody answers", func(t *testing.T) {
		_, err := Operator(t.Context(), side("RabbitmqCluster", errAway), owners(metav1.OwnerReference{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue", Controller: new(true)}), false)
		if !errors.Is(err, errAway) || !strings.Contains(err.Error(), "cluster east") {
			t.Errorf("got %v", err)
		}
	})
}

// TestPausedForTheMove: a writer that the migration pauses is a warning, and a writer without a pause is refused.
func TestPausedForTheMove(t *testing.T) {
	owned := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "rabbitmq.com/v1beta1", Kind: "RabbitmqCluster", Name: "queue", Controller: new(true)}}}}
	found, err := Operator(t.Context(), side("", nil, object("rabbitmq.com/v1beta1", "RabbitmqCluster", "queue", nil)), owned, true)
	check(t, found, err, []want{{api.ReasonOwnedByOperator, true, "RabbitmqCluster queue, which is paused for the move", "before the end"}})
	unknown := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "a", Controller: new(true)}}}}
	found, err = Operator(t.Context(), side("", nil), unknown, true)
	check(t, found, err, []want{{api.ReasonOwnedByOperator, false, "is controlled by Thing a", "orphan the StatefulSet"}})
	scaled := map[string]any{"spec|scaleTargetRef|kind": "StatefulSet", "spec|scaleTargetRef|name": "web"}
	found, err = Autoscalers(t.Context(), side("", nil, object("keda.sh/v1alpha1", "ScaledObject", "so", scaled)), true)
	check(t, found, err, []want{{api.ReasonAutoscaled, true, "ScaledObject so, which is paused for the move", "before the end"}})
	scaled["metadata|annotations|autoscaling.keda.sh/paused-replicas"] = "3"
	found, err = Autoscalers(t.Context(), side("", nil, object("keda.sh/v1alpha1", "ScaledObject", "so", scaled)), true)
	check(t, found, err, []want{{api.ReasonAutoscaled, false, "paused at 3 replicas", "paused-replicas-"}})
}

// TestGitOps: the remedy names the tool and how it can coexist with a move; an object that the tool leaves alone is
// no finding.
func TestGitOps(t *testing.T) {
	type marks = map[string]string
	for name, tc := range map[string]struct {
		labels, annotations marks
		remedy              string
	}{
		"none":                       {nil, marks{"team": "shop"}, ""},
		"Argo CD":                    {nil, marks{"argocd.argoproj.io/tracking-id": "store:apps/StatefulSet:shop/web"}, "kubectl annotate application.argoproj.io -n argocd store argocd.argoproj.io/skip-reconcile=true"},
		"Argo CD in a namespace":     {nil, marks{"argocd.argoproj.io/tracking-id": "team-a_store:apps/StatefulSet:shop/web"}, "-n team-a store argocd"},
		"Argo CD by a label":         {marks{"argocd.argoproj.io/instance": "store"}, nil, `{"group":"apps","kind":"StatefulSet","name":"web","jsonPointers":["/spec/replicas","/spec/ordinals"]}`},
		"Flux":                       {marks{"kustomize.toolkit.fluxcd.io/name": "store", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}, nil, `kubectl patch kustomization.kustomize.toolkit.fluxcd.io -n flux-system store --type=merge -p '{"spec":{"suspend":true}}'`},
		"Flux, told to leave it":     {marks{"kustomize.toolkit.fluxcd.io/name": "store"}, marks{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}, ""},
		"Flux, told something else":  {marks{"kustomize.toolkit.fluxcd.io/name": "store"}, marks{"kustomize.toolkit.fluxcd.io/reconcile": "enabled"}, "kubectl annotate sts -n shop web kustomize.toolkit.fluxcd.io/reconcile=disabled"},
		"a release of Flux":          {marks{"helm.toolkit.fluxcd.io/name": "store", "helm.toolkit.fluxcd.io/namespace": "flux-system"}, nil, `kubectl patch helmrelease.helm.toolkit.fluxcd.io -n flux-system store`},
		"a release of the namespace": {marks{"helm.toolkit.fluxcd.io/name": "store"}, nil, `-n shop store`},
		"left by one, kept by other": {marks{"kustomize.toolkit.fluxcd.io/name": "store", "helm.toolkit.fluxcd.io/name": "other"}, marks{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}, "-n shop other"},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}}
			var wanted []want
			if tc.remedy != "" {
				wanted = []want{{api.ReasonTrackedByGitOps, true, "is tracked by", tc.remedy}}
			}
			check(t, GitOps(side("", nil), set), nil, wanted)
		})
	}
	var known []string
	for _, tool := range tools {
		known = append(known, tool.mark)
	}
	if !slices.Equal(known, world.Trackers) {
		t.Errorf("known are %v, and copies are without %v", known, world.Trackers)
	}
}

// TestAutoscalers: an autoscaler of the StatefulSet is reported with its own pause; an autoscaler of another
// StatefulSet is not.
func TestAutoscalers(t *testing.T) {
	hpa := func(name string, owners ...metav1.OwnerReference) client.Object {
		return &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "scaler", OwnerReferences: owners},
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name}},
		}
	}
	byKEDA := []want{{api.ReasonAutoscaled, false, "ScaledObject shop/so in cluster east scales", "kubectl annotate scaledobject -n shop so autoscaling.keda.sh/paused=true"}}
	for name, tc := range map[string]struct {
		objects []client.Object
		fails   string
		with    error
		want    []want
	}{
		"nobody":             {},
		"of another one":     {objects: []client.Object{hpa("other")}},
		"a HPA":              {objects: []client.Object{hpa("web")}, want: []want{{api.ReasonAutoscaled, false, "HorizontalPodAutoscaler shop/scaler", "kubectl get hpa -n shop scaler -o yaml > hpa-scaler.yaml, then in cluster east: kubectl delete hpa -n shop scaler"}}},
		"a HPA of KEDA":      {objects: []client.Object{hpa("web", metav1.OwnerReference{Kind: "ScaledObject", Name: "so", Controller: new(true)})}, want: byKEDA},
		"HPAs are forbidden": {fails: "HorizontalPodAutoscaler", with: forbidden, want: []want{{api.ReasonPermissionMissing, true, "HorizontalPodAutoscalers in namespace shop of cluster east may not be listed", "bind the ClusterRoles"}}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Autoscalers(t.Context(), side(tc.fails, tc.with, tc.objects...), false)
			check(t, found, err, tc.want)
		})
	}
	if _, err := Autoscalers(t.Context(), side("HorizontalPodAutoscaler", errAway), false); !errors.Is(err, errAway) {
		t.Errorf("nobody answered, and it says %v", err)
	}
}

// TestScaledObjects: a KEDA ScaledObject is reported with its pause, also before it has a HorizontalPodAutoscaler. A
// ScaledObject that is paused at the current replicas must remain paused. A ScaledObject that is paused at a number
// is scaled to it.
func TestScaledObjects(t *testing.T) {
	scaled := func(fields map[string]any) []client.Object {
		all := map[string]any{"spec|scaleTargetRef|kind": "StatefulSet", "spec|scaleTargetRef|name": "web"}
		maps.Copy(all, fields)
		return []client.Object{object("keda.sh/v1alpha1", "ScaledObject", "so", all)}
	}
	const pausesIt = "kubectl annotate scaledobject -n shop so autoscaling.keda.sh/paused=true"
	for name, tc := range map[string]struct {
		objects []client.Object
		with    error
		want    []want
	}{
		"it scales":                {objects: scaled(nil), want: []want{{api.ReasonAutoscaled, false, "ScaledObject shop/so in cluster east scales", pausesIt}}},
		"of apps/v1":               {objects: scaled(map[string]any{"spec|scaleTargetRef|apiVersion": "apps/v1"}), want: []want{{api.ReasonAutoscaled, false, "KEDA would add and remove", pausesIt}}},
		"of another kind":          {objects: scaled(map[string]any{"spec|scaleTargetRef|kind": "Deployment"})},
		"of another API":           {objects: scaled(map[string]any{"spec|scaleTargetRef|apiVersion": "apps.example.com/v1"})},
		"of another StatefulSet":   {objects: scaled(map[string]any{"spec|scaleTargetRef|name": "db"})},
		"it is paused":             {objects: scaled(map[string]any{"metadata|annotations|autoscaling.keda.sh/paused": "true"}), want: []want{{api.ReasonAutoscaled, true, "is paused: when it is resumed", "leave it paused"}}},
		"it is paused at a number": {objects: scaled(map[string]any{"metadata|annotations|autoscaling.keda.sh/paused-replicas": "3"}), want: []want{{api.ReasonAutoscaled, false, "paused at 3 replicas", "autoscaling.keda.sh/paused-replicas- autoscaling.keda.sh/paused=true"}}},
		"KEDA is not there":        {with: unserved},
		"they are forbidden":       {with: forbidden, want: []want{{api.ReasonPermissionMissing, true, "scaledobjects.keda.sh in namespace shop of cluster east may not be listed", "grant the right to list scaledobjects.keda.sh"}}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Autoscalers(t.Context(), side("ScaledObject", tc.with, tc.objects...), false)
			check(t, found, err, tc.want)
		})
	}
	if _, err := Autoscalers(t.Context(), side("ScaledObject", errAway), false); !errors.Is(err, errAway) {
		t.Errorf("nobody answered, and it says %v", err)
	}
}

// TestVerticalAutoscalers: an autoscaler that changes the pods is a warning with the setting that disables it.
func TestVerticalAutoscalers(t *testing.T) {
	vertical := func(mode string) []client.Object {
		fields := map[string]any{"spec|targetRef|apiVersion": "apps/v1", "spec|targetRef|kind": "StatefulSet", "spec|targetRef|name": "web"}
		if mode != "" {
			fields["spec|updatePolicy|updateMode"] = mode
		}
		return []client.Object{object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "vpa", fields)}
	}
	const off = `kubectl patch verticalpodautoscaler -n shop vpa --type=merge -p '{"spec":{"updatePolicy":{"updateMode":"Off"}}}'`
	for name, tc := range map[string]struct {
		objects []client.Object
		with    error
		want    []want
	}{
		"by default":         {objects: vertical(""), want: []want{{api.ReasonAutoscaled, true, "(updateMode Auto) evicts its pods", off}}},
		"it recreates":       {objects: vertical("Recreate"), want: []want{{api.ReasonAutoscaled, true, "evicts its pods during the move", off}}},
		"at the start only":  {objects: vertical("Initial"), want: []want{{api.ReasonAutoscaled, true, "when they start", off}}},
		"it only recommends": {objects: vertical("Off")},
		"it is not there":    {with: unserved},
		"it is forbidden":    {with: forbidden, want: []want{{api.ReasonPermissionMissing, true, "verticalpodautoscalers.autoscaling.k8s.io in namespace shop", "grant the right"}}},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := VerticalAutoscalers(t.Context(), side("VerticalPodAutoscaler", tc.with, tc.objects...))
			check(t, found, err, tc.want)
		})
	}
}
