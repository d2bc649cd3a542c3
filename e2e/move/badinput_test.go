package move

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRefused: the manager refuses bad input of every kind with its reason, names the object, and changes
// nothing.
func TestRefused(t *testing.T) {
	tests := map[string]struct {
		app    fixture.App
		set    harness.Setting
		spoil  func(*move)
		reason string
		names  string
	}{
		"source missing":   {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.Migration.Spec.Source.Name = "nobody" }, api.ReasonSourceMissing, "nobody"},
		"source unhealthy": {harness.Usual(2), harness.AcrossClusters, func(v *move) { v.breakPod("web-0") }, api.ReasonSourceNotHealthy, "web-0"},
		"roll-out in progress": {harness.Usual(2), harness.AcrossClusters, func(v *move) {
			v.patchSource(`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null},"template":{"metadata":{"annotations":{"revision":"2"}}}}}`)
			v.awaitObserved()
		}, api.ReasonRolloutInProgress, "roll-out"},
		"destination has another template": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = "app:2" })
		}, api.ReasonDestinationDiffers, "spec.template.spec.containers[0].image"},
		"destination has another selector": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) {
				set.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
				set.Spec.Template.Labels = map[string]string{"app": "other"}
			})
		}, api.ReasonDestinationDiffers, "spec.selector"},
		"X-14 destination has a readiness gate that nobody opens": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: slicesapi.InPlaceUpdateReady}}
			})
		}, api.ReasonKindUnsupported, "InPlaceUpdateReady"},
		"destination has replicas": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Replicas, set.Spec.Ordinals = ptr.To[int32](1), nil })
			v.Must(fixture.App{Namespace: v.ToNamespace, Name: v.App.Name}.AwaitReady(v.Ctx, v.Destination))
		}, api.ReasonDestinationNotEmpty, "not side by side"},
		"the names of ordinals would change": {harness.Usual(1), harness.AcrossNames, func(v *move) {
			v.servingExports()
			named(&v.Migration.Spec)
		}, api.ReasonNameImpossible, "web-next"},
		"a Service has the name of an ordinal": {harness.Usual(2), harness.AcrossClusters, func(v *move) {
			from, _ := v.servingExports()
			named(&v.Migration.Spec)
			v.Must(from.Create(v.Ctx, v.podService("web-1", "other-1")))
		}, api.ReasonServiceTaken, "web-1"},
		"foreign claim at the destination": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.Must(v.makeNamespace())
			v.foreignClaim()
		}, volumes.ReasonForeignClaim, "data-web-0"},
		"claim not bound": {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.loseClaim() }, volumes.ReasonClaimNotBound, "data-web-0"},
		"S-020 claims deleted on scale-down": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.patchSource(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Retain"}}}`)
			v.awaitObserved()
		}, api.ReasonClaimsDeletedOnScale, "whenScaled"},
		"two budgets": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			second := v.App.Budget()
			second.Name = "second"
			_, err := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).Create(v.Ctx, second, metav1.CreateOptions{})
			v.Must(err)
		}, api.ReasonSeveralBudgets, "second"},
		"a budget of others, too":    {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.stranger() }, api.ReasonBudgetCoversOthers, "stranger"},
		"a budget of one pod of two": {fixture.App{Replicas: 2, Claims: []string{"data"}}, harness.AcrossClusters, func(v *move) { v.budgetOfOne("web-0") }, api.ReasonBudgetLeavesOut, "web-1"}, // G13
		"a budget's name is taken": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.Must(v.makeNamespace())
			other := v.App.Budget()
			other.Namespace, other.Spec.Selector = v.ToNamespace, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			_, err := v.Destination.PolicyV1().PodDisruptionBudgets(v.ToNamespace).Create(v.Ctx, other, metav1.CreateOptions{})
			v.Must(err)
		}, api.ReasonForeignBudget, "has the name of the PodDisruptionBudget to create"},
		"a budget of nothing":  {fixture.App{Replicas: 1, MaxUnavailable: harness.IntOrString("0")}, harness.AcrossClusters, nil, api.ReasonBudgetZero, "PodDisruptionBudget"},
		"d above the budget":   {harness.Usual(3), harness.AcrossClusters, func(v *move) { v.Migration.Spec.MaxUnavailable = harness.IntOrString("2") }, api.ReasonBudgetExceeded, "maxUnavailable"},
		"more at once than d":  {harness.Usual(3), harness.AcrossClusters, func(v *move) { v.Migration.Spec.Handoff.MaxInFlight = harness.IntOrString("2") }, api.ReasonInFlightExceeds, "the disruption budget is 1"},
		"secret missing":       {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.Migration.Spec.Destination.KubeConfigSecretRef.Name = "none" }, api.ReasonKubeConfigMissing, "none"},
		"kubeconfig malformed": {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.useKubeconfig([]byte("not: [a kubeconfig")) }, api.ReasonKubeConfigRefused, "Secret"},
		"kubeconfig runs a program": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.editKubeconfig("client-certificate-data:", "exec: {apiVersion: client.authentication.k8s.io/v1, command: steal, interactiveMode: Never}\n    x:")
		}, api.ReasonKubeConfigRefused, "exec"},
		"kubeconfig reads a file": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.editKubeconfig("client-certificate-data:", "client-certificate: /etc/passwd\n    x:")
		}, api.ReasonKubeConfigRefused, "client-certificate"},
		"cluster unreachable": {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.editKubeconfig("server: https://127.0.0.1:", "server: https://127.0.0.2:1 #") }, api.ReasonClusterUnreachable, "west"},
		"permission missing":  {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.Migration.Spec.ServiceAccountName = "weak" }, api.ReasonPermissionMissing, "statefulsets"},
		"owned by an operator": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.patchSource(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"` + v.App.Namespace + `","uid":"` + v.namespaceUID() + `","controller":true}]}}`)
		}, api.ReasonOwnedByOperator, "Namespace"},
		"autoscaled":              {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.scaler() }, api.ReasonAutoscaled, "HorizontalPodAutoscaler"},
		"a gate does not compile": {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.gate("object.") }, api.ReasonGateInvalid, "gate verdict"},
		"source is the destination": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.To, v.ToNamespace = v.From, v.App.Namespace
			v.Migration.Spec.Destination = api.DestinationReference{Namespace: v.App.Namespace}
		}, api.ReasonSameStatefulSet, "itself"},
		"a quota is too small": {harness.Usual(2), harness.AcrossClusters, func(v *move) {
			v.Must(v.makeNamespace())
			v.claimQuota("1")
		}, api.ReasonQuotaTooSmall, "1 of persistentvolumeclaims"},
		"a quota within the cluster is too small": {harness.Usual(2), harness.AcrossNames, func(v *move) { v.claimQuota("3") }, api.ReasonQuotaTooSmall, "2 is used"},
		"admission refuses the destination": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.Must(v.makeNamespace())
			v.refuseSets()
		}, api.ReasonWriteRefused, "no StatefulSets here"},
		"the driver is missing":        {harness.Usual(1), onCSI, nil, volumes.ReasonDriverMissing, "a moved pod could not mount its volume"},
		"the driver is on no node":     {harness.Usual(1), onCSI, func(v *move) { v.csiDriver() }, volumes.ReasonVolumeOutOfReach, "no node of cluster west"},
		"the nodes are full":           {harness.Usual(2), onCSI, func(v *move) { v.csiNode(1) }, volumes.ReasonVolumeOutOfReach, "can attach only 1 more"},
		"the disk has a second volume": {harness.Usual(1), onCSI, func(v *move) { v.csiNode(9); v.twin() }, volumes.ReasonForeignVolume, "the same disk"},
		"a ConfigMap is missing":       {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.needConfigMap("settings") }, api.ReasonDependencyMissing, "settings"},
		"a RuntimeClass is missing":    {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.needRuntime("sandbox") }, api.ReasonDependencyMissing, "RuntimeClass"}, // G12
		"a shared claim is missing":    {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.shareClaim("/a", "") }, api.ReasonDependencyMissing, "shared"},         // G12
		"a shared claim is another disk": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.Must(v.makeNamespace())
			v.shareClaim("/a", "/b")
		}, volumes.ReasonClaimDiverges, "shared"}, // G12
		"the pods are not let in":    {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.restrictPods() }, api.ReasonWriteRefused, "violates PodSecurity"}, // G12
		"no node reaches the volume": {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.pinVolume() }, volumes.ReasonVolumeOutOfReach, "node affinity"},
		"namespace missing":          {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.Migration.Spec.Destination.CreateNamespace = false }, api.ReasonNamespaceMissing, "namespace"},
		"too many":                   {harness.Usual(1), harness.AcrossClusters, func(v *move) { v.Migration.Spec.Ordinals.Count = ptr.To[int32](2) }, api.ReasonCountTooLarge, "2"},
		"another migration": {harness.Usual(1), harness.AcrossClusters, func(v *move) {
			v.patchSource(`{"metadata":{"annotations":{"` + api.FenceAnnotationKey + `":"another.1"}}}`)
		}, api.ReasonHeldByAnother, "another"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, tc.app, tc.set)
			c := v.Managed()
			if tc.spoil != nil {
				tc.spoil(v)
			}
			harness.StartManager(t, v.App.Namespace)
			v.expectRefused(c, tc.reason, tc.names)
		})
	}
}

// expectRefused creates the Migration for a running manager and deletes it again. It checks that the Migration
// is refused with this reason and that nothing has changed.
func (v *move) expectRefused(c client.Client, reason, names string) {
	v.T.Helper()
	before := v.fingerprint()
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionAccepted, metav1.ConditionFalse)
	condition := v.Await(c, api.ConditionStalled, metav1.ConditionTrue) // with the remedy
	if condition.Reason != reason || !strings.Contains(condition.Message, names) {
		v.T.Errorf("refused with %s: %s\nwant %s naming %q", condition.Reason, condition.Message, reason, names)
	}
	v.expectUnchanged(before)
	v.T.Logf("%s: %s", condition.Reason, condition.Message)
	v.Must(c.Delete(v.Ctx, v.Migration))
	v.Eventually("the refused Migration is gone", harness.Gone(c, v.Migration))
}

// expectUnchanged checks that nothing has changed since the fingerprint before.
func (v *move) expectUnchanged(before string) {
	v.T.Helper()
	if after := v.fingerprint(); after != before {
		v.T.Errorf("something was changed:\n%s\n%s", before, after)
	}
}

// budgetOfOne creates a PodDisruptionBudget for a single pod.
func (v *move) budgetOfOne(pod string) {
	v.T.Helper()
	budget := v.App.Budget()
	budget.Spec.MaxUnavailable = harness.IntOrString("1")
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.StatefulSetPodNameLabel: pod}}
	_, err := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).Create(v.Ctx, budget, metav1.CreateOptions{})
	v.Must(err)
}

// stranger creates a pod that the application's PodDisruptionBudget selects and that belongs to no slice.
func (v *move) stranger() {
	v.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "stranger", Labels: v.App.Budget().Spec.Selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Create(v.Ctx, pod, metav1.CreateOptions{})
	v.Must(err)
}

// fingerprint returns the objects that a migration could have changed.
func (v *move) fingerprint() string {
	v.T.Helper()
	var text strings.Builder
	set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	fmt.Fprintf(&text, "set generation %d annotations %v; ", set.Generation, set.Annotations)
	budgets, err := v.Source.PolicyV1().PodDisruptionBudgets(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for _, budget := range budgets.Items {
		fmt.Fprintf(&text, "budget %s generation %d; ", budget.Name, budget.Generation)
	}
	volumes, err := v.Source.CoreV1().PersistentVolumes().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for _, volume := range volumes.Items {
		if ref := volume.Spec.ClaimRef; ref != nil && ref.Namespace == v.App.Namespace {
			fmt.Fprintf(&text, "volume %s %s %s/%s; ", volume.Name, volume.Spec.PersistentVolumeReclaimPolicy, ref.Name, ref.UID)
		}
	}
	if v.To != v.From {
		sets, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		claims, err := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).List(v.Ctx, metav1.ListOptions{})
		v.Must(err)
		fmt.Fprintf(&text, "destination: %d sets, %d claims", len(sets.Items), len(claims.Items))
	}
	return text.String()
}

func (v *move) patchSource(patch string) {
	v.T.Helper()
	_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Patch(v.Ctx, v.App.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.Must(err)
}

// breakPod makes a pod not Ready, as its kubelet would.
func (v *move) breakPod(name string) {
	v.T.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`
	_, err := v.Source.CoreV1().Pods(v.App.Namespace).Patch(v.Ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	v.Must(err)
}

// putDestination creates a destination that differs from the source.
func (v *move) putDestination(change func(*appsv1.StatefulSet)) {
	v.T.Helper()
	v.Must(v.makeNamespace())
	there := v.App
	there.Namespace = v.ToNamespace
	set := there.StatefulSet()
	set.Spec.Replicas, set.Spec.Ordinals = ptr.To[int32](0), &appsv1.StatefulSetOrdinals{Start: 1}
	change(set)
	_, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Create(v.Ctx, set, metav1.CreateOptions{})
	v.Must(err)
}

func (v *move) foreignClaim() {
	v.T.Helper()
	claim := v.App.StatefulSet().Spec.VolumeClaimTemplates[0]
	claim.Name, claim.Namespace = "data-web-0", v.ToNamespace
	_, err := v.Destination.CoreV1().PersistentVolumeClaims(v.ToNamespace).Create(v.Ctx, &claim, metav1.CreateOptions{})
	v.Must(err)
}

func (v *move) sourceVolume() *corev1.PersistentVolume {
	v.T.Helper()
	claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, "data-web-0", metav1.GetOptions{})
	v.Must(err)
	volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	v.Must(err)
	return volume
}

// loseClaim points the volume to another claim, so its own claim becomes Lost.
func (v *move) loseClaim() {
	v.T.Helper()
	volume := v.sourceVolume()
	patch := `{"spec":{"persistentVolumeReclaimPolicy":"Retain","claimRef":{"name":"nobody","uid":null,"resourceVersion":null}}}`
	_, err := v.Source.CoreV1().PersistentVolumes().Patch(v.Ctx, volume.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.Must(err)
}

func (v *move) scaler() {
	v.T.Helper()
	_, err := v.Source.AutoscalingV2().HorizontalPodAutoscalers(v.App.Namespace).Create(v.Ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "scaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 3, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: v.App.Name},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
}

func (v *move) namespaceUID() string {
	v.T.Helper()
	namespace, err := v.Source.CoreV1().Namespaces().Get(v.Ctx, v.App.Namespace, metav1.GetOptions{})
	v.Must(err)
	return string(namespace.UID)
}

// useKubeconfig stores another kubeconfig in the Secret of the destination.
func (v *move) useKubeconfig(data []byte) {
	v.T.Helper()
	secret, err := v.Source.CoreV1().Secrets(v.App.Namespace).Get(v.Ctx, "west", metav1.GetOptions{})
	v.Must(err)
	secret.Data["value"] = data
	_, err = v.Source.CoreV1().Secrets(v.App.Namespace).Update(v.Ctx, secret, metav1.UpdateOptions{})
	v.Must(err)
}

func (v *move) editKubeconfig(old, replacement string) {
	v.T.Helper()
	data := string(v.KubeconfigOf("mover"))
	if !strings.Contains(data, old) {
		v.T.Fatalf("the kubeconfig has no %q", old)
	}
	v.useKubeconfig([]byte(strings.Replace(data, old, replacement, 1)))
}

// TestUnknownFields: the API server refuses unknown fields and contradictions.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	if err := harness.Install(); err != nil {
		t.Fatal(err)
	}
	c, err := harness.Client(harness.East())
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ spec, want string }{
		"unknown field":         {`{"source":{"name":"web"},"destination":{"namespace":"b"},"sauce":1}`, `unknown field "spec.sauce"`},
		"source is destination": {`{"source":{"name":"web"},"destination":{}}`, "same StatefulSet"},
		"unknown mode":          {`{"source":{"name":"web"},"destination":{"namespace":"b"},"mode":"Stop"}`, "spec.mode"},
		"unknown dependencies":  {`{"source":{"name":"web"},"destination":{"namespace":"b"},"dependencies":{"mode":"Move"}}`, "spec.dependencies.mode"},
		"unknown conflicts":     {`{"source":{"name":"web"},"destination":{"namespace":"b"},"dependencies":{"mode":"Copy","onConflict":"Merge"}}`, "spec.dependencies.onConflict"},
		"a budget of 0":         {`{"source":{"name":"web"},"destination":{"namespace":"b"},"maxUnavailable":0}`, "maxUnavailable"},
		"a budget of 0%":        {`{"source":{"name":"web"},"destination":{"namespace":"b"},"maxUnavailable":"0%"}`, "maxUnavailable"},
		"none at once":          {`{"source":{"name":"web"},"destination":{"namespace":"b"},"handoff":{"maxInFlight":0}}`, "a number from 1 to 16"},
		"17 at once":            {`{"source":{"name":"web"},"destination":{"namespace":"b"},"handoff":{"maxInFlight":17}}`, "a number from 1 to 16"},
		"0% at once":            {`{"source":{"name":"web"},"destination":{"namespace":"b"},"handoff":{"maxInFlight":"0%"}}`, "a number from 1 to 16"},
		"no source":             {`{"destination":{"namespace":"b"}}`, "source"},
		"a negative deadline":   {`{"source":{"name":"web"},"destination":{"namespace":"b"},"handoff":{"progressDeadlineSeconds":-1}}`, "progressDeadlineSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			object := unstructuredMigration(t, tc.spec)
			err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(t.Context(), object)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Errorf("got %v, want an error about %q", err, tc.want)
			}
		})
	}
}

// needConfigMap adds a ConfigMap to the pod template that exists only at the source.
func (v *move) needConfigMap(name string) {
	v.T.Helper()
	_, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).Create(v.Ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	v.Must(err)
	v.patchSource(`{"spec":{"template":{"spec":{"volumes":[{"name":"settings","configMap":{"name":"` + name + `"}}]}}}}`)
	v.Must(v.App.AwaitReady(v.Ctx, v.Source))
}

// pinVolume restricts the volume to nodes that the destination does not have.
func (v *move) pinVolume() {
	v.T.Helper()
	_, err := v.Source.CoreV1().Nodes().Patch(v.Ctx, "node-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"zone":"east-1"}}}`), metav1.PatchOptions{})
	v.Must(err)
	patch := `{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["east-1"]}]}]}}}}`
	_, err = v.Source.CoreV1().PersistentVolumes().Patch(v.Ctx, v.sourceVolume().Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.Must(err)
}

// claimQuota limits the claims in the destination's namespace and waits until the quota is enforced.
func (v *move) claimQuota(most string) {
	v.T.Helper()
	quotas := v.Destination.CoreV1().ResourceQuotas(v.ToNamespace)
	_, err := quotas.Create(v.Ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse(most)}},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.Eventually("the quota counts", func(ctx context.Context) (bool, error) {
		quota, err := quotas.Get(ctx, "few", metav1.GetOptions{})
		return err == nil && len(quota.Status.Used) > 0, err
	})
}

// refuseSets refuses every StatefulSet in the destination's namespace by an admission policy, and waits until
// the policy is enforced.
func (v *move) refuseSets() {
	v.T.Helper()
	v.policy(v.There(), "refuse-"+v.ToNamespace, admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"}},
		admissionregistrationv1.Validation{Expression: "false", Message: "no StatefulSets here"})
	there := v.App
	there.Namespace = v.ToNamespace
	v.Eventually("the policy refuses", func(ctx context.Context) (bool, error) {
		_, err := v.Destination.AppsV1().StatefulSets(v.ToNamespace).Create(ctx, there.StatefulSet(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, nil
	})
}

// policy creates an admission policy that validates creations in a side's namespace.
func (v *move) policy(at harness.Endpoint, name string, rule admissionregistrationv1.Rule, validation admissionregistrationv1.Validation) {
	v.T.Helper()
	admission := at.Client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(v.Ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: at.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, Rule: rule,
				}}},
			},
			Validations: []admissionregistrationv1.Validation{validation},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(v.Ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	}, metav1.CreateOptions{})
	v.Must(err)
}
