package config

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// plainClaim is a claim template as a manifest has it.
const plainClaim = `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`

// sameClaims are the ways to write plainClaim: what API servers of apps/v1 and typed clients store, and other notations
// of the same values.
var sameClaims = map[string]string{
	"text":                plainClaim,
	"stored by apps/v1":   `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, creationTimestamp: null}, spec: {accessModes: [ReadWriteOnce], volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}`,
	"of a typed client":   `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {}}`,
	"with another status": `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {phase: Bound, capacity: {storage: 5Gi}}}`,
	"in Mi":               `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`,
	"with a fraction":     `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1.0Gi}}}}`,
	"as a number":         `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1073741824}}}}`,
	"with a namespace":    `{metadata: {name: data, namespace: shop}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"with empty values":   `{metadata: {name: data, namespace: "", labels: {}, annotations: {}, finalizers: []}, spec: {accessModes: [ReadWriteOnce], volumeName: "", resources: {requests: {storage: 1Gi}, limits: {}}}}`,
	"with nulls":          `{metadata: {name: data, labels: null, annotations: null}, spec: {accessModes: [ReadWriteOnce], selector: null, storageClassName: null, volumeName: null, resources: {requests: {storage: 1Gi}, limits: null}}, status: null}`,
}

// selectingClaims are the ways to write one claim template with a selector and a limit.
var selectingClaims = map[string]string{
	"with a selector":         `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}, resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}}}`,
	"its selector with empty": `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists, values: []}]}, resources: {requests: {storage: 1024Mi}, limits: {storage: 2048Mi}}}, status: {}}`,
}

// otherClaims mean something else than plainClaim, whatever the size.
var otherClaims = map[string]string{
	"a label":              `{metadata: {name: data, labels: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"an annotation":        `{metadata: {name: data, annotations: {a: b}}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"a finalizer":          `{metadata: {name: data, finalizers: [a.b/c]}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"another name":         `{metadata: {name: logs}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
	"an access mode":       `{metadata: {name: data}, spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}}`,
	"another access mode":  `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce, ReadOnlyMany], resources: {requests: {storage: 1Gi}}}}`,
	"a class":              `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}`,
	"no class at all":      `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}}`,
	"a block device":       `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], volumeMode: Block, resources: {requests: {storage: 1Gi}}}}`,
	"a volume":             `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], volumeName: pv, resources: {requests: {storage: 1Gi}}}}`,
	"an attributes class":  `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], volumeAttributesClassName: gold, resources: {requests: {storage: 1Gi}}}}`,
	"a source":             `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], dataSource: {kind: PersistentVolumeClaim, name: a}, resources: {requests: {storage: 1Gi}}}}`,
	"another source":       `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], dataSourceRef: {kind: PersistentVolumeClaim, name: a}, resources: {requests: {storage: 1Gi}}}}`,
	"a selector":           `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], selector: {matchLabels: {a: b}}, resources: {requests: {storage: 1Gi}}}}`,
	"an empty selector":    `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], selector: {}, resources: {requests: {storage: 1Gi}}}}`,
	"an expression":        `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], selector: {matchExpressions: [{key: a, operator: In, values: [b]}]}, resources: {requests: {storage: 1Gi}}}}`,
	"a limit":              `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}}}`,
	"a limit of that size": `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}, limits: {storage: 1Gi}}}}`,
}

const (
	growsClaims  = `volumeClaimUpdateStrategy: {type: OnPodRollingUpdate},`
	leavesClaims = `volumeClaimUpdateStrategy: {},` // the default is OnDelete
	aboutNone    = "volumeClaimTemplates is immutable without a volumeClaimUpdateStrategy"
	aboutNumber  = "no template can be added or removed"
	aboutFields  = "only resources.requests.storage, storageClassName, volumeAttributesClassName and accessModes may change"
	aboutVolumes = "may only change with volumeClaimUpdateStrategy.type OnDelete"
	aboutGrowth  = "resources.requests.storage may only grow"
)

// tester is the common part of *testing.T and *rapid.T.
type tester interface {
	Context() context.Context
	Helper()
	Fatalf(format string, args ...any)
}

// update judges an update of a set's spec as the API server does. Each spec is the inside of a mapping in YAML, without the
// fields that every set has.
func (a admission) update(t tester, before, after string) []string {
	t.Helper()
	stored := func(spec string) map[string]any {
		inJSON, err := yaml.YAMLToJSON([]byte(`{apiVersion: apps.sliceshift.io/v1alpha1, kind: StatefulSet, metadata: {name: web}, spec: {` + spec + `}}`))
		if err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		var object map[string]any
		if err := utiljson.Unmarshal(inJSON, &object); err != nil {
			t.Fatalf("%s: %v", spec, err)
		}
		defaulting.Default(object, a.structural)
		defaulting.PruneNonNullableNullsWithoutDefaults(object, a.structural)
		return object
	}
	refused, _ := a.rules.Validate(t.Context(), nil, a.structural, stored(after), stored(before), celconfig.RuntimeCELCostBudget)
	messages := make([]string, 0, len(refused))
	for _, each := range refused {
		messages = append(messages, each.Error())
	}
	return messages
}

// updateClaims judges an update of a set's claim templates, which are lists in YAML. An empty text leaves them out.
func (a admission) updateClaims(t tester, strategy, before, after string) []string {
	t.Helper()
	spec := func(claims string) string {
		if claims != "" {
			claims = "volumeClaimTemplates: " + claims + ","
		}
		return strategy + claims + `selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}`
	}
	return a.update(t, spec(before), spec(after))
}

// ofVolumes are the otherClaims that differ in what a new volume can have.
var ofVolumes = []string{"an access mode", "another access mode", "a class", "no class at all", "an attributes class"}

// TestY1ClaimTemplatesCompareByMeaning: an update that writes the claim templates in another way is accepted, and one
// that changes their meaning is not. With a strategy a larger request is accepted, and with OnDelete what a new volume can
// have.
func TestY1ClaimTemplatesCompareByMeaning(t *testing.T) {
	rules := newAdmission(t, sliceapi.GroupVersion.Group)
	for _, strategy := range []string{"", growsClaims, leavesClaims} {
		check := func(name, before, after, want string) {
			t.Helper()
			got := rules.updateClaims(t, strategy, before, after)
			if want == "" && len(got) > 0 || want != "" && !strings.Contains(strings.Join(got, "\n"), want) || strings.Contains(strings.Join(got, "\n"), "evaluation") {
				t.Errorf("strategy %q, %s: %q, want %q", strategy, name, got, want)
			}
		}
		for _, forms := range []map[string]string{sameClaims, selectingClaims} {
			for from, before := range forms {
				for to, after := range forms {
					check(from+" to "+to, "["+before+"]", "["+after+"]", "")
				}
			}
		}
		number, grown, shrunk, order := aboutNone, aboutNone, aboutNone, aboutNone
		switch strategy {
		case growsClaims:
			number, grown, shrunk, order = aboutNumber, "", aboutGrowth, ""
		case leavesClaims:
			number, grown, shrunk, order = aboutNumber, "", "", ""
		}
		for name, other := range otherClaims {
			want := aboutFields
			switch {
			case slices.Contains(ofVolumes, name) && strategy == leavesClaims:
				want = ""
			case slices.Contains(ofVolumes, name):
				want = aboutVolumes
			}
			check(name, "["+plainClaim+"]", "["+other+"]", want)
			check(name+" is taken away", "["+other+"]", "["+plainClaim+"]", want)
		}
		logs := otherClaims["another name"]
		check("one is added", "["+plainClaim+"]", "["+plainClaim+","+logs+"]", number)
		check("one is removed", "["+plainClaim+","+logs+"]", "["+plainClaim+"]", number)
		check("the first one is added", "", "["+plainClaim+"]", number)
		check("the last one is removed", "["+plainClaim+"]", "", number)
		check("none, and an empty list", "", "[]", "")
		check("an empty list, and none", "[]", "", "")
		larger := strings.Replace(plainClaim, "1Gi", "1100M", 1)
		check("the request grows", "["+plainClaim+"]", "["+larger+"]", grown)
		check("the order changes", "["+plainClaim+","+logs+"]", "["+logs+","+plainClaim+"]", order)
		check("the request shrinks", "["+larger+"]", "["+plainClaim+"]", shrunk)
	}
}

// anyClaim draws a claim template, often one that means the same as another draw.
func anyClaim(t *rapid.T) string {
	part := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, values[0])).Draw(t, name)
	}
	return `{` + part("type", "", "kind: PersistentVolumeClaim, apiVersion: v1,") +
		`metadata: {name: data` + part("labels", "", ", labels: {}", ", labels: {a: b}", ", labels: null") + part("annotations", "", ", annotations: {}", ", annotations: {a: b}") + `}, spec: {accessModes: [ReadWriteOnce],` +
		part("class", "", `storageClassName: "",`, "storageClassName: fast,") +
		part("mode", "", "volumeMode: Filesystem,", "volumeMode: Block,") +
		part("volume", "", `volumeName: "",`, "volumeName: pv,") +
		part("source", "", "dataSource: {kind: A, name: a},", "dataSource: {kind: A, name: a, apiGroup: g},") +
		part("selector", "", "selector: {},", "selector: {matchLabels: {}},", "selector: {matchExpressions: [{key: a, operator: Exists}]},", "selector: {matchExpressions: [{key: a, operator: Exists, values: []}]},") +
		`resources: {requests: {storage: ` + part("request", "1Gi", "1024Mi", "1073741824", "2Gi", "2048Mi") + `}` + part("limits", "", ", limits: {}", ", limits: {storage: 3Gi}", ", limits: {storage: 3072Mi}") + `}}` +
		part("status", "", ", status: {}", ", status: {phase: Pending}") + `}`
}

// asNative reports whether apps/v1 takes two claim templates for the same (kubernetes pkg/apis/apps/validation,
// ValidateStatefulSetUpdate). Their types and statuses are those that every template gets there.
func asNative(t *rapid.T, one, other string) bool {
	decode := func(text string) (claim corev1.PersistentVolumeClaim) {
		if err := yaml.Unmarshal([]byte(text), &claim); err != nil {
			t.Fatal(err)
		}
		claim.TypeMeta, claim.Status = metav1.TypeMeta{}, corev1.PersistentVolumeClaimStatus{}
		if claim.Spec.VolumeMode == nil {
			claim.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
		}
		return claim
	}
	return equality.Semantic.DeepEqual(decode(one), decode(other))
}

// TestY1ClaimTemplatesCompareAsNative: without a strategy an update is accepted exactly if apps/v1 accepts it.
func TestY1ClaimTemplatesCompareAsNative(t *testing.T) {
	rules := newAdmission(t, sliceapi.GroupVersion.Group)
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		one := anyClaim(t)
		other := one
		if rapid.Bool().Draw(t, "another") {
			other = anyClaim(t)
		}
		got, want := rules.updateClaims(t, "", "["+one+"]", "["+other+"]"), asNative(t, one, other)
		if want != (len(got) == 0) {
			t.Fatalf("%s\n%s\napps/v1 takes them for the same: %t; ours: %q", one, other, want, got)
		}
		verdicts[want]++
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("verdicts %v are one-sided", verdicts)
	}
}

// TestY1ClaimTemplatesWithinBudget: the comparison of as many and as large claim templates as the schema allows is not too
// expensive for the API server.
func TestY1ClaimTemplatesWithinBudget(t *testing.T) {
	rules := newAdmission(t, sliceapi.GroupVersion.Group)
	many := func(n int, prefix string) string {
		all := make([]string, 0, n)
		for i := range n {
			all = append(all, fmt.Sprintf("%s%d: %s", prefix, i, strings.Repeat("v", 60)))
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	var claims []string
	for i := range 32 {
		claims = append(claims, fmt.Sprintf(`{metadata: {name: data-%d, labels: %s, annotations: %s}, spec: {accessModes: [ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod],
			storageClassName: %s, selector: {matchLabels: %s}, resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}}, status: {}}`,
			i, many(256, "l"), many(64, "a"), strings.Repeat("c", 250), many(64, "s")))
	}
	reversed := slices.Clone(claims)
	slices.Reverse(reversed)
	for _, after := range [][]string{claims, reversed} {
		for _, strategy := range []string{growsClaims, leavesClaims} {
			if got := rules.updateClaims(t, strategy, "["+strings.Join(claims, ",")+"]", "["+strings.Join(after, ",")+"]"); len(got) > 0 {
				t.Errorf("%.300q", got)
			}
		}
	}
}

// TestY1TypedClientsWriteManifests: a claim template of our kind is encoded with the fields of a manifest alone.
func TestY1TypedClientsWriteManifests(t *testing.T) {
	set := sliceapi.StatefulSet{Spec: sliceapi.StatefulSetSpec{Replicas: new(int32(3)), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}}}}
	text, err := json.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	if want := `"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"resources":{}}}]`; !strings.Contains(string(text), want) || !strings.Contains(string(text), `"replicas":3`) {
		t.Errorf("%s, want %s", text, want)
	}
	var again sliceapi.StatefulSet
	if err := json.Unmarshal(text, &again); err != nil || again.Spec.VolumeClaimTemplates[0].Name != "data" {
		t.Errorf("%v: %+v", err, again.Spec)
	}
}
