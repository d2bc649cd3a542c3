package slices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdslices "slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// These tests compare our kind with the native one. The API server of the cluster is Kubernetes' own code, so a dry
// run under apps/v1 performs its defaulting, its conversion and its validation with the strategy of the registry. The
// same manifest, with only its apiVersion changed, must have the same result under both.

// field is a field of both kinds, with values that its rules allow and refuse. An empty value removes the field.
type field struct {
	path   string
	values []string
}

const strategy = "spec.updateStrategy"

var (
	long = strings.Repeat("w", 80)

	fields = []field{
		{"metadata.name", []string{"web", long[:52], long[:53], long[:63], long[:64], "Web", "a.b", "-a", "a-", "'1'", "a--b", "a_b"}},
		{"metadata.labels", []string{"", "{a: b}", "{a: '-'}", "{a b: c}"}},
		{"spec.replicas", []string{"", "null", "0", "1", "5", "-1", "2147483647", "2147483648", "'3'", "1.5"}},
		{"spec.minReadySeconds", []string{"", "0", "5", "-1", "2147483647"}},
		{"spec.revisionHistoryLimit", []string{"", "null", "0", "3", "-1"}},
		{"spec.serviceName", []string{"", "''", "web", "a.b", "Web", "-a", long[:63], long[:64]}},
		{"spec.podManagementPolicy", []string{"", "OrderedReady", "Parallel", "Random", "null", "''"}},
		{"spec.ordinals", []string{"", "null", "{}", "{start: 0}", "{start: 4}", "{start: -1}", "{start: 2147483647}", "{start: null}"}},
		{"spec.persistentVolumeClaimRetentionPolicy", []string{
			"", "null", "{}", "{whenDeleted: Delete}", "{whenScaled: Delete}",
			"{whenDeleted: Retain, whenScaled: Delete}", "{whenDeleted: Keep}", "{whenScaled: delete}", "{whenDeleted: ''}",
		}},

		{strategy, []string{
			"", "null", "{}", "{type: RollingUpdate}", "{type: OnDelete}", "{type: Recreate}", "{type: Random}", "{type: null}", "{type: ''}",
			"{type: OnDelete, rollingUpdate: {partition: 0}}", "{type: OnDelete, rollingUpdate: {}}", "{type: OnDelete, rollingUpdate: null}",
			"{rollingUpdate: {}}", "{rollingUpdate: {partition: 2}}", "{type: RollingUpdate, rollingUpdate: {}}",
		}},
		{strategy + ".rollingUpdate.partition", []string{"null", "0", "1", "4", "5", "6", "99", "-1", "'1'"}},
		{strategy + ".rollingUpdate.maxUnavailable", []string{
			"null", "0", "1", "7", "-1", "0%", "00%", "1%", "01%", "99%", "100%", "101%", "1000%", "-1%", "'1'", "x", "'%'", "''",
		}},

		{"spec.selector", []string{
			"", "null", "{}", "{matchLabels: {}}", "{matchLabels: {app: web}}", "{matchLabels: {app: other}}", "{matchLabels: {app: web, x: y}}",
			"{matchLabels: {app: 'a b'}}", "{matchLabels: {app: web, 'a b': c}}", "{matchLabels: {app: web, a/b/c: d}}",
			"{matchExpressions: []}", "{matchExpressions: [{key: app, operator: Exists}]}", "{matchExpressions: [{key: app, operator: DoesNotExist}]}",
			"{matchExpressions: [{key: x, operator: Exists}]}", "{matchExpressions: [{key: x, operator: DoesNotExist}]}",
			"{matchExpressions: [{key: app, operator: In, values: [web, x]}]}", "{matchExpressions: [{key: app, operator: In, values: [x]}]}",
			"{matchExpressions: [{key: x, operator: In, values: [x]}]}", "{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}",
			"{matchExpressions: [{key: app, operator: NotIn, values: [x]}]}", "{matchExpressions: [{key: x, operator: NotIn, values: [x]}]}",
			"{matchExpressions: [{key: app, operator: In}]}", "{matchExpressions: [{key: app, operator: In, values: []}]}",
			"{matchExpressions: [{key: app, operator: Exists, values: [web]}]}", "{matchExpressions: [{key: app, operator: Gt, values: ['1']}]}",
			"{matchExpressions: [{key: app, operator: In, values: [web, 'a b']}]}", "{matchExpressions: [{key: 'a b', operator: DoesNotExist}]}",
			"{matchExpressions: [{operator: Exists}]}",
			"{matchLabels: {app: web}, matchExpressions: [{key: tier, operator: Exists}]}",
		}},

		{"spec.template", []string{"", "null", "{}"}},
		{"spec.template.metadata", []string{"", "{}", "{labels: null}", "{name: x, labels: {app: web}}", "{labels: {app: web}, annotations: {a: b}}"}},
		{"spec.template.metadata.labels", []string{
			"{}", "{app: web, tier: db}", "{app: other}", "{app: ''}", "{app: web, x: 'a b'}", "{app: web, 'a b': c}",
			"{app: web, example.com/a: b}", "{app: web, Example.com/a: b}", "{app: web, /a: b}", "{app: web, a/: b}",
			"{app: web, x: " + long[:63] + "}", "{app: web, x: " + long[:64] + "}", "{app: web, " + long[:64] + ": x}", "{app: web, a/" + long[:64] + ": x}",
		}},
		{"spec.template.spec", []string{"", "{}", "{containers: null}"}},
		{"spec.template.spec.restartPolicy", []string{"''", "Always", "OnFailure", "Never", "null"}},
		{"spec.template.spec.activeDeadlineSeconds", []string{"null", "1", "0"}},
		{"spec.template.spec.dnsPolicy", []string{"ClusterFirst", "Default", "ClusterFirstWithHostNet", "Other", "''"}},
		{"spec.template.spec.terminationGracePeriodSeconds", []string{"null", "0", "5", "-1"}},
		{"spec.template.spec.schedulerName", []string{"mine"}},
		{"spec.template.spec.securityContext", []string{"{}", "{runAsUser: 5}", "null"}},
		{"spec.template.spec.hostname", []string{"a", "A B"}},
		{"spec.template.spec.subdomain", []string{"a", "A B"}},
		{"spec.template.spec.readinessGates", []string{"[]", "[{conditionType: a.b/c}]"}},
		{"spec.template.spec.containers", []string{
			"[]", "[{name: a, image: i}]", "[{name: a, image: i}, {name: b, image: j}]", "[{name: a, image: i}, {name: a, image: j}]",
			"[{image: i}]", "[{name: A, image: i}]", "[{name: a.b, image: i}]", "[{name: " + long[:63] + ", image: i}]", "[{name: " + long[:64] + ", image: i}]",
			"[{name: a, image: 'i:latest', imagePullPolicy: Never}]", "[{name: a, image: i, imagePullPolicy: Often}]",
			"[{name: a, image: i, terminationMessagePolicy: File}]", "[{name: a, image: i, terminationMessagePolicy: Mail}]",
			"[{name: a, image: i, ports: [{containerPort: 80}]}]", "[{name: a, image: i, ports: [{containerPort: 0}]}]",
			"[{name: a, image: i, ports: [{containerPort: 70000}]}]", "[{name: a, image: i, ports: [{containerPort: 80, protocol: UDP}]}]",
			"[{name: a, image: i, ports: [{containerPort: 80, protocol: ICMP}]}]",
			"[{name: a, image: i, volumeMounts: [{name: nowhere, mountPath: /x}]}]",
			"[{name: a, image: i, env: [{name: A, value: b}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]",
			"[{name: a, image: i, readinessProbe: {httpGet: {port: 80}}, livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 3}, startupProbe: {exec: {command: [x]}, failureThreshold: 9}}]",
			"[{name: a, image: i, resources: {requests: {cpu: 100m}, limits: {cpu: 200m}}}]",
			"[{name: a, image: i, lifecycle: {preStop: {httpGet: {port: 80}}}}]",
		}},
		{"spec.template.spec.initContainers", []string{
			"[]", "[{name: a, image: i}]", "[{name: a}]", "[{name: a, image: ''}]", "[{image: i}]", "[{name: A, image: i}]", "[{name: a, image: i}, {name: a, image: j}]",
			"[{name: a, image: i, restartPolicy: Always, readinessProbe: {httpGet: {port: 80}}}]",
		}},
		{"spec.template.spec.ephemeralContainers", []string{"[]", "[{name: a, image: i}]"}},
		{"spec.template.spec.nodeSelector", []string{"{a: b}"}},
		{"spec.template.spec.serviceAccountName", []string{"robot"}},
		{"spec.template.spec.hostNetwork", []string{"true", "false"}},
		{"spec.template.spec.tolerations", []string{"[{key: a, operator: Exists}]", "[{key: a, operator: Sometimes}]"}},
		{"spec.template.spec.imagePullSecrets", []string{"[{name: a}]"}},
		{"spec.template.spec.priorityClassName", []string{"high"}},
		{"spec.template.spec.enableServiceLinks", []string{"true", "false"}},
		{"spec.template.spec.volumes", []string{
			"[]", "[{name: a, emptyDir: {}}]", "[{name: A, emptyDir: {}}]", "[{name: data, emptyDir: {}}]", "[{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]",
			"[{name: a, configMap: {name: c}}, {name: b, secret: {secretName: s}}, {name: c, hostPath: {path: /x}}]",
			"[{name: a, configMap: {name: c, defaultMode: 512}}]",
			"[{name: a, downwardAPI: {items: [{path: l, fieldRef: {fieldPath: metadata.labels}}]}}]",
			"[{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]",
		}},

		{"spec.volumeClaimTemplates", []string{
			"", "null", "[]", "[" + claim + "]", "[" + claim + ", " + claim + "]",
			claimWith("metadata: {}"), claimWith("metadata: {name: a.b}"), claimWith("metadata: {name: " + long[:64] + "}"), claimWith("metadata: {name: d, labels: {a: b}}"),
			claimWith("spec: {}"), claimWith("spec: {accessModes: [ReadWriteOnce]}"), claimWith("spec: {resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [], resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [Any], resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce, ReadOnlyMany], resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 0}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: -1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: big}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], resources: {limits: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], volumeMode: Block, storageClassName: fast, resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], volumeMode: Tape, resources: {requests: {storage: 1Gi}}}"),
			claimWith("spec: {accessModes: [ReadWriteOnce], selector: {matchLabels: {a: b}}, resources: {requests: {storage: 1Gi}}}"),
		}},
	}
)

// claimWith returns a list of one claim template, with one part replaced.
func claimWith(part string) string {
	template := map[string]string{"metadata": "metadata: {name: data}", "spec": "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"}
	name, _, _ := strings.Cut(part, ":")
	template[name] = part
	return "[{" + template["metadata"] + ", " + template["spec"] + "}]"
}

// change sets one field.
type change struct{ path, value string }

func (c change) apply(object map[string]any) error {
	if c.value == "" {
		return drop(c.path)(object)
	}
	return put(c.path, c.value)(object)
}

// difference is an intended difference: our kind may judge an object to which it applies differently.
type difference struct {
	reason  string
	refused bool // by ours; otherwise by the native kind
	applies func(object *unstructured.Unstructured) bool
}

// enumerated are fields for which apps/v1 replaces an empty text with the default.
var enumerated = []string{
	"spec.podManagementPolicy", strategy + ".type", "spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
	"spec.template.spec.restartPolicy", "spec.template.spec.dnsPolicy",
}

var meant = []difference{
	{"an empty text is no value: OpenAPI puts a default only for what is absent", true, func(o *unstructured.Unstructured) bool {
		return stdslices.ContainsFunc(enumerated, func(path string) bool { return at(o, path) == "" })
	}},
	{"a revision hash and an ordinal do not fit behind a longer name in a label: apps/v1 accepts such a set and then cannot create its pods", true, func(o *unstructured.Unstructured) bool {
		return len(o.GetName()) > 52
	}},
	{"a partition outside the range is invalid by the proposal of ordinals.start, which apps/v1 does not check", true, func(o *unstructured.Unstructured) bool {
		partition, start := number(o, strategy+".rollingUpdate.partition", 0), number(o, "spec.ordinals.start", 0)
		return partition < start || partition > start+number(o, "spec.replicas", 1)
	}},
	{"ordinals above the largest int32 would overflow: apps/v1 does not check", true, func(o *unstructured.Unstructured) bool {
		return number(o, "spec.ordinals.start", 0)+number(o, "spec.replicas", 1) > 2147483647
	}},
	{"a million pods are many times what a cluster holds, and a controller that counts to the largest int32 has no memory left for the other sets: apps/v1 does not check", true, func(o *unstructured.Unstructured) bool {
		return number(o, "spec.replicas", 1) > 1000000
	}},
	{"two claim templates of one name make one claim: apps/v1 keeps one of them without a word", true, func(o *unstructured.Unstructured) bool {
		names := map[any]bool{}
		templates, _ := at(o, "spec.volumeClaimTemplates").([]any)
		for _, template := range templates {
			name, _, _ := unstructured.NestedString(template.(map[string]any), "metadata", "name")
			names[name] = true
		}
		return len(names) < len(templates)
	}},
	{"Recreate is a strategy of ours", false, func(o *unstructured.Unstructured) bool {
		return at(o, strategy+".type") == "Recreate"
	}},
	{"what one part of a pod says of another (a mount without a volume) is judged when a pod is created, and told in the condition FailedCreatePod", false, func(o *unstructured.Unstructured) bool {
		return strings.Contains(fmt.Sprint(at(o, "spec.template.spec.containers")), "nowhere")
	}},
}

func number(object *unstructured.Unstructured, path string, absent int64) int64 {
	if value, ok := at(object, path).(int64); ok {
		return value
	}
	return absent
}

// TestEveryValueAsNative: each value of each field alone has the same result under both kinds.
func TestEveryValueAsNative(t *testing.T) {
	t.Parallel()
	t.Run("S-004, K-211: each alone", func(t *testing.T) {
		namespace := newNamespace(t)
		verdicts := map[bool]int{}
		for _, base := range []edit{all(), all(put("spec.replicas", "3"), put("spec.ordinals.start", "2"))} {
			for _, field := range fields {
				for _, value := range field.values {
					accepted := compareCreate(t.Context(), t, namespace, base, change{field.path, value})
					verdicts[accepted]++
				}
			}
		}
		if verdicts[true] < 100 || verdicts[false] < 100 {
			t.Errorf("%d accepted, %d refused: the values are one-sided", verdicts[true], verdicts[false])
		}
	})
}

// TestManyValuesAsNative: several values at once have the same result under both kinds.
func TestManyValuesAsNative(t *testing.T) {
	t.Parallel()
	t.Run("S-004, K-211: several at once", func(t *testing.T) {
		namespace := newNamespace(t)
		rapid.Check(t, func(r *rapid.T) {
			compareCreate(t.Context(), r, namespace, all(), drawChanges(r)...)
		})
	})
}

func drawChanges(r *rapid.T) []change {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) change {
		field := rapid.SampledFrom(fields).Draw(r, "field")
		return change{field.path, rapid.SampledFrom(field.values).Draw(r, "value")}
	}), 1, 4).Draw(r, "changes")
}

// reporter is the common part of *testing.T and *rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// compareCreate compares a creation under both kinds and returns whether ours accepts it.
func compareCreate(ctx context.Context, r reporter, namespace string, base edit, changes ...change) bool {
	r.Helper()
	theirs, err := build(native, namespace, base, changes)
	if err != nil {
		return false // the changes contradict each other: one is below what another removed
	}
	own, err := build(ours, namespace, base, changes)
	if err != nil {
		r.Fatalf("%v", err)
	}
	asked := own.DeepCopy()
	answered := answer{own, api.Create(ctx, own, client.DryRunAll)}
	compareAnswers(r, fmt.Sprint("create ", changes), asked, answer{theirs, api.Create(ctx, theirs, client.DryRunAll)}, answered)
	return answered.err == nil
}

func build(apiVersion, namespace string, base edit, changes []change) (*unstructured.Unstructured, error) {
	value, err := fromYAML(minimal)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: value.(map[string]any)}
	object.SetAPIVersion(apiVersion)
	object.SetNamespace(namespace)
	if err := base(object.Object); err != nil {
		return nil, err
	}
	for _, each := range changes {
		if err := each.apply(object.Object); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// answer is the API server's answer to a request.
type answer struct {
	object *unstructured.Unstructured
	err    error
}

// compareAnswers fails when the answers differ and the difference is not intended.
func compareAnswers(r reporter, what string, asked *unstructured.Unstructured, theirs, own answer) {
	r.Helper()
	for _, each := range []answer{theirs, own} {
		if each.err != nil && !apierrors.IsInvalid(each.err) && !apierrors.IsBadRequest(each.err) {
			r.Fatalf("%s: no verdict: %v", what, each.err)
		}
	}
	if (theirs.err == nil) != (own.err == nil) {
		for _, each := range meant {
			if each.refused == (own.err != nil) && each.applies(asked) {
				return
			}
		}
		r.Errorf("%s:\n  apps/v1: %v\n  ours:    %v", what, theirs.err, own.err)
		return
	}
	if own.err != nil {
		return
	}
	if diff := cmp.Diff(plain(theirs.object), plain(own.object)); diff != "" {
		r.Errorf("%s: the defaults differ (-apps/v1 +ours):\n%s", what, diff)
	}
}

// plain returns the spec of an object without the fields that intentionally differ after defaulting.
func plain(object *unstructured.Unstructured) any {
	object = object.DeepCopy()
	// Fields that only our kind has.
	unstructured.RemoveNestedField(object.Object, "spec", "progressDeadlineSeconds")
	unstructured.RemoveNestedField(object.Object, "spec", "terminationReasonPolicy")
	// Our kind omits values that mean the default anyway. A default of OpenAPI would also be set next to a value that
	// forbids it (OnDelete). The value 1 is the default only behind a feature gate.
	if at(object, strategy+".rollingUpdate.maxUnavailable") == int64(1) {
		unstructured.RemoveNestedField(object.Object, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
	}
	// Another name of serviceAccountName, which apps/v1 keeps equal.
	unstructured.RemoveNestedField(object.Object, "spec", "template", "spec", "serviceAccount")
	// The API server sets these when a pod or a claim is created. Their defaults depend on other fields, or users do
	// not set them.
	for _, kind := range []string{"containers", "initContainers"} {
		containers, _ := at(object, "spec.template.spec."+kind).([]any)
		for _, container := range containers {
			delete(container.(map[string]any), "imagePullPolicy")
		}
	}
	templates, _ := at(object, "spec.volumeClaimTemplates").([]any)
	for _, template := range templates {
		for _, key := range []string{"apiVersion", "kind", "status"} {
			delete(template.(map[string]any), key)
		}
	}
	return withoutZeros(at(object, "spec"))
}

// withoutZeros removes the empty values that Go's encoding of apps/v1 omits.
func withoutZeros(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, each := range value {
			if each = withoutZeros(each); each != nil {
				kept[key] = each
			}
		}
		if len(kept) > 0 {
			return kept
		}
	case []any:
		var kept []any
		for _, each := range value {
			kept = append(kept, withoutZeros(each))
		}
		if len(kept) > 0 {
			return kept
		}
	case string:
		if value != "" {
			return value
		}
	case int64:
		if value != 0 {
			return value
		}
	case bool:
		if value {
			return value
		}
	default:
		return value
	}
	return nil
}

// updateBases are the stored objects that the update tests change, under both kinds.
var updateBases = []edit{
	all(),
	all(put("spec.podManagementPolicy", "Parallel"), put("spec.ordinals.start", "2"), put(strategy, "{type: OnDelete}")),
	all(put("spec.volumeClaimTemplates", "["+claim+"]"), put("spec.minReadySeconds", "5"), drop("spec.serviceName")),
	put("spec.selector", "{matchLabels: {app: web}, matchExpressions: [{key: app, operator: Exists}]}"),
}

// TestUpdatesAsNative: both kinds allow the same updates.
func TestUpdatesAsNative(t *testing.T) {
	t.Parallel()
	t.Run("K-210: each alone, then several at once", func(t *testing.T) {
		namespace := newNamespace(t)
		var theirs, own []*unstructured.Unstructured
		for i, base := range updateBases {
			name := put("metadata.name", fmt.Sprint("web-", i))
			theirs = append(theirs, manifest(t, native, namespace, base, name))
			own = append(own, manifest(t, quiet(t), namespace, base, name))
			mustCreate(t, theirs[i])
			mustCreate(t, own[i])
		}
		turn := 0
		for _, field := range fields[1:] { // the name of an object is in its address
			for _, value := range field.values {
				i := turn % len(updateBases)
				compareUpdate(t.Context(), t, theirs[i], own[i], change{field.path, value})
				turn++
			}
		}
		if t.Failed() {
			return
		}
		rapid.Check(t, func(r *rapid.T) {
			i := rapid.IntRange(0, len(updateBases)-1).Draw(r, "base")
			changes := drawChanges(r)
			for _, each := range changes {
				if each.path == fields[0].path {
					return
				}
			}
			compareUpdate(t.Context(), r, theirs[i], own[i], changes...)
		})
	})
}

func compareUpdate(ctx context.Context, r reporter, theirs, own *unstructured.Unstructured, changes ...change) {
	r.Helper()
	theirs, own = theirs.DeepCopy(), own.DeepCopy()
	theirs.SetResourceVersion("") // the native controller writes its status
	for _, each := range changes {
		if errors.Join(each.apply(theirs.Object), each.apply(own.Object)) != nil {
			return
		}
	}
	asked := own.DeepCopy()
	compareAnswers(r, fmt.Sprint("update ", changes), asked,
		answer{theirs, api.Update(ctx, theirs, client.DryRunAll)}, answer{own, api.Update(ctx, own, client.DryRunAll)})
}

// TestStatusAsNative: both kinds allow the same counts in a status.
func TestStatusAsNative(t *testing.T) {
	t.Parallel()
	t.Run("K-213, X-25: several counts at once, and conditions", func(t *testing.T) {
		namespace := newNamespace(t)
		stored := put("status", "{replicas: 0, collisionCount: 2}")
		theirs, own := manifest(t, native, namespace), manifest(t, quiet(t), namespace)
		for _, object := range []*unstructured.Unstructured{theirs, own} {
			mustCreate(t, object)
			status := changed(t, object, stored)
			status.SetResourceVersion("")
			if object == own {
				status.SetResourceVersion(object.GetResourceVersion())
			}
			if err := api.Status().Update(bounded(t), status); err != nil {
				t.Fatal(err)
			}
			object.SetResourceVersion(status.GetResourceVersion())
		}
		theirs.SetResourceVersion("")
		names := []string{"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "collisionCount", "observedGeneration"}
		rapid.Check(t, func(r *rapid.T) {
			status := map[string]any{}
			for _, name := range names {
				if value := rapid.Int64Range(-1, 4).Draw(r, name); value != 4 || name == "replicas" {
					status[name] = value
				}
			}
			if condition := anyCondition(r); condition != nil {
				status["conditions"] = []any{condition}
			}
			text, err := json.Marshal(status)
			if err != nil {
				r.Fatal(err)
			}
			asked, written := theirs.DeepCopy(), own.DeepCopy()
			if err := errors.Join(put("status", string(text))(asked.Object), put("status", string(text))(written.Object)); err != nil {
				r.Fatal(err)
			}
			theirErr := api.Status().Update(t.Context(), asked, client.DryRunAll)
			ownErr := api.Status().Update(t.Context(), written, client.DryRunAll)
			if (theirErr == nil) != (ownErr == nil) {
				r.Errorf("status %s:\n  apps/v1: %v\n  ours:    %v", text, theirErr, ownErr)
			}
		})
	})
}

// anyCondition returns a condition that a client may send, or nil.
func anyCondition(r *rapid.T) map[string]any {
	if !rapid.Bool().Draw(r, "condition") {
		return nil
	}
	condition := map[string]any{"type": "Theirs", "status": "True"}
	for _, field := range []struct {
		name   string
		values []any
	}{
		{"status", []any{"", "True", "Perhaps"}},
		{"reason", []any{"", "Why", "not yet"}},
		{"message", []any{"", "for people"}},
		{"lastTransitionTime", []any{nil, "2026-01-01T00:00:00Z", "yesterday"}},
	} {
		if rapid.Bool().Draw(r, field.name) {
			condition[field.name] = rapid.SampledFrom(field.values).Draw(r, field.name+" is")
		}
	}
	return condition
}
