package e2e

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

	"github.com/sliceshift/sliceshift/e2e/fixture"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	slicesapi "github.com/sliceshift/sliceshift/slices/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRefused gives the manager bad input of every kind. Each is refused with its reason, the
// object is named, and nothing has been changed.
func TestRefused(t *testing.T) {
	tests := map[string]struct {
		app    fixture.App
		set    setting
		spoil  func(*move)
		reason string
		names  string
	}{
		"source missing":   {usual(1), acrossClusters, func(v *move) { v.m.Spec.Source.Name = "nobody" }, api.ReasonSourceMissing, "nobody"},
		"source unhealthy": {usual(2), acrossClusters, func(v *move) { v.breakPod("web-0") }, api.ReasonSourceNotHealthy, "web-0"},
		"roll-out in progress": {usual(2), acrossClusters, func(v *move) {
			v.patchSource(`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null},"template":{"metadata":{"annotations":{"revision":"2"}}}}}`)
			v.awaitObserved()
		}, api.ReasonRolloutInProgress, "roll-out"},
		"destination has another template": {usual(1), acrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = "app:2" })
		}, api.ReasonDestinationDiffers, "spec.template.spec.containers[0].image"},
		"destination has another selector": {usual(1), acrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) {
				set.Spec.Selector.MatchLabels = map[string]string{"app": "other"}
				set.Spec.Template.Labels = map[string]string{"app": "other"}
			})
		}, api.ReasonDestinationDiffers, "spec.selector"},
		"X-14 destination has a readiness gate that nobody opens": {usual(1), acrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) {
				set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: slicesapi.InPlaceUpdateReady}}
			})
		}, api.ReasonKindUnsupported, "InPlaceUpdateReady"},
		"destination has replicas": {usual(1), acrossClusters, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Replicas, set.Spec.Ordinals = ptr.To[int32](1), nil })
			v.must(fixture.App{Namespace: v.toNamespace, Name: v.app.Name}.AwaitReady(v.ctx, v.destination))
		}, api.ReasonDestinationNotEmpty, "not side by side"},
		"the names of ordinals would change": {usual(1), acrossNames, func(v *move) {
			v.servingExports()
			named(&v.m.Spec)
		}, api.ReasonNameImpossible, "web-next"},
		"a Service has the name of an ordinal": {usual(2), acrossClusters, func(v *move) {
			from, _ := v.servingExports()
			named(&v.m.Spec)
			v.must(from.Create(v.ctx, v.podService("web-1", "other-1")))
		}, api.ReasonServiceTaken, "web-1"},
		"foreign claim at the destination": {usual(1), acrossClusters, func(v *move) {
			v.must(v.makeNamespace())
			v.foreignClaim()
		}, volumes.ReasonForeignClaim, "data-web-0"},
		"foreign volume at the destination": {usual(1), acrossClusters, func(v *move) { v.foreignVolume() }, volumes.ReasonForeignVolume, "another disk"},
		"claim not bound":                   {usual(1), acrossClusters, func(v *move) { v.loseClaim() }, volumes.ReasonClaimNotBound, "data-web-0"},
		"S-020 claims deleted on scale-down": {usual(1), acrossClusters, func(v *move) {
			v.patchSource(`{"spec":{"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Retain"}}}`)
			v.awaitObserved()
		}, api.ReasonClaimsDeletedOnScale, "whenScaled"},
		"two budgets": {usual(1), acrossClusters, func(v *move) {
			second := v.app.Budget()
			second.Name = "second"
			_, err := v.source.PolicyV1().PodDisruptionBudgets(v.app.Namespace).Create(v.ctx, second, metav1.CreateOptions{})
			v.must(err)
		}, api.ReasonSeveralBudgets, "second"},
		"a budget of others, too":    {usual(1), acrossClusters, func(v *move) { v.stranger() }, api.ReasonBudgetCoversOthers, "stranger"},
		"a budget of one pod of two": {fixture.App{Replicas: 2, Claims: []string{"data"}}, acrossClusters, func(v *move) { v.budgetOfOne("web-0") }, api.ReasonBudgetLeavesOut, "web-1"}, // G13
		"a budget's name is taken": {usual(1), acrossClusters, func(v *move) {
			v.must(v.makeNamespace())
			other := v.app.Budget()
			other.Namespace, other.Spec.Selector = v.toNamespace, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			_, err := v.destination.PolicyV1().PodDisruptionBudgets(v.toNamespace).Create(v.ctx, other, metav1.CreateOptions{})
			v.must(err)
		}, api.ReasonForeignBudget, "needs its name"},
		"a budget of nothing":  {fixture.App{Replicas: 1, MaxUnavailable: intOrString("0")}, acrossClusters, nil, api.ReasonBudgetZero, "PodDisruptionBudget"},
		"d above the budget":   {usual(3), acrossClusters, func(v *move) { v.m.Spec.MaxUnavailable = intOrString("2") }, api.ReasonBudgetExceeded, "maxUnavailable"},
		"secret missing":       {usual(1), acrossClusters, func(v *move) { v.m.Spec.Destination.KubeConfigSecretRef.Name = "none" }, api.ReasonKubeConfigMissing, "none"},
		"kubeconfig malformed": {usual(1), acrossClusters, func(v *move) { v.useKubeconfig([]byte("not: [a kubeconfig")) }, api.ReasonKubeConfigRefused, "Secret"},
		"kubeconfig runs a program": {usual(1), acrossClusters, func(v *move) {
			v.editKubeconfig("client-certificate-data:", "exec: {apiVersion: client.authentication.k8s.io/v1, command: steal, interactiveMode: Never}\n    x:")
		}, api.ReasonKubeConfigRefused, "exec"},
		"kubeconfig reads a file": {usual(1), acrossClusters, func(v *move) {
			v.editKubeconfig("client-certificate-data:", "client-certificate: /etc/passwd\n    x:")
		}, api.ReasonKubeConfigRefused, "client-certificate"},
		"cluster unreachable": {usual(1), acrossClusters, func(v *move) { v.editKubeconfig("server: https://127.0.0.1:", "server: https://127.0.0.2:1 #") }, api.ReasonClusterUnreachable, "west"},
		"permission missing":  {usual(1), acrossClusters, func(v *move) { v.m.Spec.ServiceAccountName = "weak" }, api.ReasonPermissionMissing, "statefulsets"},
		"owned by an operator": {usual(1), acrossClusters, func(v *move) {
			v.patchSource(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"` + v.app.Namespace + `","uid":"` + v.namespaceUID() + `","controller":true}]}}`)
		}, api.ReasonOwnedByOperator, "Namespace"},
		"autoscaled": {usual(1), acrossClusters, func(v *move) { v.scaler() }, api.ReasonAutoscaled, "HorizontalPodAutoscaler"},
		"source is the destination": {usual(1), acrossClusters, func(v *move) {
			v.to, v.toNamespace = v.from, v.app.Namespace
			v.m.Spec.Destination = api.DestinationReference{Namespace: v.app.Namespace}
		}, api.ReasonSameStatefulSet, "itself"},
		"a quota is too small": {usual(2), acrossClusters, func(v *move) {
			v.must(v.makeNamespace())
			v.claimQuota("1")
		}, api.ReasonQuotaTooSmall, "1 of persistentvolumeclaims"},
		"a quota within the cluster is too small": {usual(2), acrossNames, func(v *move) { v.claimQuota("3") }, api.ReasonQuotaTooSmall, "2 is used"},
		"admission refuses the destination": {usual(1), acrossClusters, func(v *move) {
			v.must(v.makeNamespace())
			v.refuseSets()
		}, api.ReasonWriteRefused, "no StatefulSets here"},
		"the driver is missing":        {usual(1), onCSI, nil, volumes.ReasonDriverMissing, "no such driver"},
		"the driver is on no node":     {usual(1), onCSI, func(v *move) { v.csiDriver() }, volumes.ReasonVolumeOutOfReach, "no node of cluster west"},
		"the nodes are full":           {usual(2), onCSI, func(v *move) { v.csiNode(1) }, volumes.ReasonVolumeOutOfReach, "can attach 1 more"},
		"the disk has a second volume": {usual(1), onCSI, func(v *move) { v.csiNode(9); v.twin() }, volumes.ReasonForeignVolume, "the same disk"},
		"a ConfigMap is missing":       {usual(1), acrossClusters, func(v *move) { v.needConfigMap("settings") }, api.ReasonDependencyMissing, "settings"},
		"a RuntimeClass is missing":    {usual(1), acrossClusters, func(v *move) { v.needRuntime("sandbox") }, api.ReasonDependencyMissing, "RuntimeClass"}, // G12
		"a shared claim is missing":    {usual(1), acrossClusters, func(v *move) { v.shareClaim("/a", "") }, api.ReasonDependencyMissing, "shared"},         // G12
		"a shared claim is another disk": {usual(1), acrossClusters, func(v *move) {
			v.must(v.makeNamespace())
			v.shareClaim("/a", "/b")
		}, volumes.ReasonClaimDiverges, "shared"}, // G12
		"the pods are not let in":    {usual(1), acrossClusters, func(v *move) { v.restrictPods() }, api.ReasonWriteRefused, "violates PodSecurity"}, // G12
		"no node reaches the volume": {usual(1), acrossClusters, func(v *move) { v.pinVolume() }, volumes.ReasonVolumeOutOfReach, "node affinity"},
		"namespace missing":          {usual(1), acrossClusters, func(v *move) { v.m.Spec.Destination.CreateNamespace = false }, api.ReasonNamespaceMissing, "namespace"},
		"too many":                   {usual(1), acrossClusters, func(v *move) { v.m.Spec.Ordinals.Count = ptr.To[int32](2) }, api.ReasonCountTooLarge, "2"},
		"another migration": {usual(1), acrossClusters, func(v *move) {
			v.patchSource(`{"metadata":{"annotations":{"` + api.FenceAnnotationKey + `":"another.1"}}}`)
		}, api.ReasonClaimedByAnother, "another"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, tc.app, tc.set)
			c := v.managed()
			if tc.spoil != nil {
				tc.spoil(v)
			}
			startManager(t, v.app.Namespace)
			v.expectRefused(c, tc.reason, tc.names)
		})
	}
}

// expectRefused makes the Migration, whose manager runs, and deletes it again: it is refused with
// its reason, and nothing has been changed.
func (v *move) expectRefused(c client.Client, reason, names string) {
	v.t.Helper()
	before := v.fingerprint()
	v.must(c.Create(v.ctx, v.m))
	condition := v.await(c, api.ConditionAccepted, metav1.ConditionFalse)
	if condition.Reason != reason || !strings.Contains(condition.Message, names) {
		v.t.Errorf("refused with %s: %s\nwant %s naming %q", condition.Reason, condition.Message, reason, names)
	}
	if after := v.fingerprint(); after != before {
		v.t.Errorf("something was changed:\n%s\n%s", before, after)
	}
	v.t.Logf("%s: %s", condition.Reason, condition.Message)
	v.must(c.Delete(v.ctx, v.m))
	v.eventually("the refused Migration is gone", gone(c, v.m))
}

// budgetOfOne is a PodDisruptionBudget for a single pod.
func (v *move) budgetOfOne(pod string) {
	v.t.Helper()
	budget := v.app.Budget()
	budget.Spec.MaxUnavailable = intOrString("1")
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{appsv1.StatefulSetPodNameLabel: pod}}
	_, err := v.source.PolicyV1().PodDisruptionBudgets(v.app.Namespace).Create(v.ctx, budget, metav1.CreateOptions{})
	v.must(err)
}

// stranger is a pod that the application's PodDisruptionBudget selects, and of no slice.
func (v *move) stranger() {
	v.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.app.Namespace, Name: "stranger", Labels: v.app.Budget().Spec.Selector.MatchLabels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
	_, err := v.source.CoreV1().Pods(v.app.Namespace).Create(v.ctx, pod, metav1.CreateOptions{})
	v.must(err)
}

// fingerprint is what a migration could have changed.
func (v *move) fingerprint() string {
	v.t.Helper()
	var text strings.Builder
	set, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Get(v.ctx, v.app.Name, metav1.GetOptions{})
	v.must(err)
	fmt.Fprintf(&text, "set generation %d annotations %v; ", set.Generation, set.Annotations)
	budgets, err := v.source.PolicyV1().PodDisruptionBudgets(v.app.Namespace).List(v.ctx, metav1.ListOptions{})
	v.must(err)
	for _, budget := range budgets.Items {
		fmt.Fprintf(&text, "budget %s generation %d; ", budget.Name, budget.Generation)
	}
	volumes, err := v.source.CoreV1().PersistentVolumes().List(v.ctx, metav1.ListOptions{})
	v.must(err)
	for _, volume := range volumes.Items {
		if ref := volume.Spec.ClaimRef; ref != nil && ref.Namespace == v.app.Namespace {
			fmt.Fprintf(&text, "volume %s %s %s/%s; ", volume.Name, volume.Spec.PersistentVolumeReclaimPolicy, ref.Name, ref.UID)
		}
	}
	if v.to != v.from {
		sets, err := v.destination.AppsV1().StatefulSets(v.toNamespace).List(v.ctx, metav1.ListOptions{})
		v.must(err)
		claims, err := v.destination.CoreV1().PersistentVolumeClaims(v.toNamespace).List(v.ctx, metav1.ListOptions{})
		v.must(err)
		fmt.Fprintf(&text, "destination: %d sets, %d claims", len(sets.Items), len(claims.Items))
	}
	return text.String()
}

func (v *move) patchSource(patch string) {
	v.t.Helper()
	_, err := v.source.AppsV1().StatefulSets(v.app.Namespace).Patch(v.ctx, v.app.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}

// breakPod makes a pod not Ready, as its kubelet would.
func (v *move) breakPod(name string) {
	v.t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`
	_, err := v.source.CoreV1().Pods(v.app.Namespace).Patch(v.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	v.must(err)
}

// putDestination makes a destination that differs from the source.
func (v *move) putDestination(change func(*appsv1.StatefulSet)) {
	v.t.Helper()
	v.must(v.makeNamespace())
	there := v.app
	there.Namespace = v.toNamespace
	set := there.StatefulSet()
	set.Spec.Replicas, set.Spec.Ordinals = ptr.To[int32](0), &appsv1.StatefulSetOrdinals{Start: 1}
	change(set)
	_, err := v.destination.AppsV1().StatefulSets(v.toNamespace).Create(v.ctx, set, metav1.CreateOptions{})
	v.must(err)
}

func (v *move) foreignClaim() {
	v.t.Helper()
	claim := v.app.StatefulSet().Spec.VolumeClaimTemplates[0]
	claim.Name, claim.Namespace = "data-web-0", v.toNamespace
	_, err := v.destination.CoreV1().PersistentVolumeClaims(v.toNamespace).Create(v.ctx, &claim, metav1.CreateOptions{})
	v.must(err)
}

func (v *move) sourceVolume() *corev1.PersistentVolume {
	v.t.Helper()
	claim, err := v.source.CoreV1().PersistentVolumeClaims(v.app.Namespace).Get(v.ctx, "data-web-0", metav1.GetOptions{})
	v.must(err)
	volume, err := v.source.CoreV1().PersistentVolumes().Get(v.ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	v.must(err)
	return volume
}

func (v *move) foreignVolume() {
	v.t.Helper()
	from := v.sourceVolume()
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: from.Name}, Spec: *from.Spec.DeepCopy()}
	volume.Spec.ClaimRef, volume.Spec.HostPath.Path = nil, "/elsewhere"
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	_, err := v.destination.CoreV1().PersistentVolumes().Create(v.ctx, volume, metav1.CreateOptions{})
	v.must(err)
}

// loseClaim points the volume elsewhere: its claim is Lost.
func (v *move) loseClaim() {
	v.t.Helper()
	volume := v.sourceVolume()
	patch := `{"spec":{"persistentVolumeReclaimPolicy":"Retain","claimRef":{"name":"nobody","uid":null,"resourceVersion":null}}}`
	_, err := v.source.CoreV1().PersistentVolumes().Patch(v.ctx, volume.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}

func (v *move) scaler() {
	v.t.Helper()
	_, err := v.source.AutoscalingV2().HorizontalPodAutoscalers(v.app.Namespace).Create(v.ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.app.Namespace, Name: "scaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 3, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: v.app.Name},
		},
	}, metav1.CreateOptions{})
	v.must(err)
}

func (v *move) namespaceUID() string {
	v.t.Helper()
	namespace, err := v.source.CoreV1().Namespaces().Get(v.ctx, v.app.Namespace, metav1.GetOptions{})
	v.must(err)
	return string(namespace.UID)
}

// useKubeconfig puts another kubeconfig into the Secret of the destination.
func (v *move) useKubeconfig(data []byte) {
	v.t.Helper()
	secret, err := v.source.CoreV1().Secrets(v.app.Namespace).Get(v.ctx, "west", metav1.GetOptions{})
	v.must(err)
	secret.Data["value"] = data
	_, err = v.source.CoreV1().Secrets(v.app.Namespace).Update(v.ctx, secret, metav1.UpdateOptions{})
	v.must(err)
}

func (v *move) editKubeconfig(old, replacement string) {
	v.t.Helper()
	data := string(v.kubeconfigOf("mover"))
	if !strings.Contains(data, old) {
		v.t.Fatalf("the kubeconfig has no %q", old)
	}
	v.useKubeconfig([]byte(strings.Replace(data, old, replacement, 1)))
}

// TestUnknownFields are refused by the API server, and so are contradictions.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	if err := install(); err != nil {
		t.Fatal(err)
	}
	c, err := direct(east)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ spec, want string }{
		"unknown field":         {`{"source":{"name":"web"},"destination":{"namespace":"b"},"sauce":1}`, `unknown field "spec.sauce"`},
		"source is destination": {`{"source":{"name":"web"},"destination":{}}`, "same StatefulSet"},
		"unknown mode":          {`{"source":{"name":"web"},"destination":{"namespace":"b"},"mode":"Stop"}`, "spec.mode"},
		"a budget of 0":         {`{"source":{"name":"web"},"destination":{"namespace":"b"},"maxUnavailable":0}`, "maxUnavailable"},
		"a budget of 0%":        {`{"source":{"name":"web"},"destination":{"namespace":"b"},"maxUnavailable":"0%"}`, "maxUnavailable"},
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

// needConfigMap has the template name a ConfigMap that is only at the source.
func (v *move) needConfigMap(name string) {
	v.t.Helper()
	_, err := v.source.CoreV1().ConfigMaps(v.app.Namespace).Create(v.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	v.must(err)
	v.patchSource(`{"spec":{"template":{"spec":{"volumes":[{"name":"settings","configMap":{"name":"` + name + `"}}]}}}}`)
	v.must(v.app.AwaitReady(v.ctx, v.source))
}

// pinVolume binds the volume to nodes that the destination does not have.
func (v *move) pinVolume() {
	v.t.Helper()
	_, err := v.source.CoreV1().Nodes().Patch(v.ctx, "node-0", types.MergePatchType, []byte(`{"metadata":{"labels":{"zone":"east-1"}}}`), metav1.PatchOptions{})
	v.must(err)
	patch := `{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["east-1"]}]}]}}}}`
	_, err = v.source.CoreV1().PersistentVolumes().Patch(v.ctx, v.sourceVolume().Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	v.must(err)
}

// claimQuota bounds the claims in the destination's namespace, and waits until the
// quota counts.
func (v *move) claimQuota(most string) {
	v.t.Helper()
	quotas := v.destination.CoreV1().ResourceQuotas(v.toNamespace)
	_, err := quotas.Create(v.ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: resource.MustParse(most)}},
	}, metav1.CreateOptions{})
	v.must(err)
	v.eventually("the quota counts", func(ctx context.Context) (bool, error) {
		quota, err := quotas.Get(ctx, "few", metav1.GetOptions{})
		return err == nil && len(quota.Status.Used) > 0, err
	})
}

// refuseSets has an admission policy refuse every StatefulSet in the destination's
// namespace, and waits until it does.
func (v *move) refuseSets() {
	v.t.Helper()
	v.policy(v.there(), "refuse-"+v.toNamespace, admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"}},
		admissionregistrationv1.Validation{Expression: "false", Message: "no StatefulSets here"})
	there := v.app
	there.Namespace = v.toNamespace
	v.eventually("the policy refuses", func(ctx context.Context) (bool, error) {
		_, err := v.destination.AppsV1().StatefulSets(v.toNamespace).Create(ctx, there.StatefulSet(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, nil
	})
}

// policy has an admission policy judge what is created in a side's namespace.
func (v *move) policy(at end, name string, rule admissionregistrationv1.Rule, validation admissionregistrationv1.Validation) {
	v.t.Helper()
	admission := at.client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(v.ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: at.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create}, Rule: rule,
				}}},
			},
			Validations: []admissionregistrationv1.Validation{validation},
		},
	}, metav1.CreateOptions{})
	v.must(err)
	_, err = admission.ValidatingAdmissionPolicyBindings().Create(v.ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	}, metav1.CreateOptions{})
	v.must(err)
}
