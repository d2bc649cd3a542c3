package slices

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// rollingPath is the path prefix of a field with many rules.
	rollingPath = "spec.updateStrategy.rollingUpdate"
	claim       = `{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`
	gate        = `[{conditionType: InPlaceUpdateReady}]`
)

var (
	parallel = put("spec.podManagementPolicy", "Parallel")
	claimed  = put("spec.volumeClaimTemplates", "["+claim+"]")
	weights  = `{weightPriority: [{weight: 10, matchSelector: {matchLabels: {zone: a}}}]}`
)

// refusal is a change that must be refused, and the required part of the message: the field, or the whole of a rule.
type refusal struct {
	name string
	edit edit
	want string
}

// refusals are manifests that must be refused.
var refusals = []refusal{
	// Names.
	{"name is no DNS label", put("metadata.name", "Web"), "metadata.name"},
	{"name has a dot", put("metadata.name", "a.b"), "metadata.name must be a DNS label"},
	{"name ends in a dash", put("metadata.name", "web-"), "metadata.name"},
	{"name leaves no room for a revision hash", put("metadata.name", strings.Repeat("w", 53)), "metadata.name must be at most 52 characters"},

	// Selector and template.
	{"no selector", drop("spec.selector"), "spec.selector: Required"},
	{"U-04 empty selector", put("spec.selector", "{}"), "selector must not be empty: name labels of template.metadata.labels in selector.matchLabels"},
	{"empty lists in the selector", put("spec.selector", "{matchLabels: {}, matchExpressions: []}"), "selector must not be empty"},
	{"bad label value in the selector", put("spec.selector.matchLabels", "{app: '-web'}"), "spec.selector.matchLabels.app"},
	{"bad label key in the selector", put("spec.selector.matchLabels", "{app: web, a b: c}"), "matchLabels must have valid label keys"},
	{"selector misses a label", put("spec.selector.matchLabels", "{app: web, tier: db}"), "template.metadata.labels must have every label"},
	{"selector has another value", put("spec.selector.matchLabels.app", "other"), "template.metadata.labels must have every label"},
	{"template has no labels", drop("spec.template.metadata"), "template.metadata.labels must have every label"},
	{"In without the value", put("spec.selector", "{matchExpressions: [{key: app, operator: In, values: [a, b]}]}"), "selector.matchExpressions"},
	{"In without the label", put("spec.selector", "{matchExpressions: [{key: tier, operator: In, values: [a, b]}]}"), "selector.matchExpressions"},
	{"NotIn with the value", put("spec.selector", "{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}"), "selector.matchExpressions"},
	{"Exists without the label", put("spec.selector", "{matchExpressions: [{key: tier, operator: Exists}]}"), "selector.matchExpressions"},
	{"DoesNotExist with the label", put("spec.selector", "{matchExpressions: [{key: app, operator: DoesNotExist}]}"), "selector.matchExpressions"},
	{"In without values", put("spec.selector", "{matchExpressions: [{key: app, operator: In}]}"), "values must be given"},
	{"Exists with values", put("spec.selector", "{matchExpressions: [{key: app, operator: Exists, values: [web]}]}"), "values must be given"},
	{"unknown operator", put("spec.selector", "{matchExpressions: [{key: app, operator: Gt, values: ['1']}]}"), "operator"},
	{"no template", drop("spec.template"), "spec.template: Required"},
	{"template without a spec", drop("spec.template.spec"), "spec.template.spec: Required"},
	{"template without containers", put("spec.template.spec.containers", "[]"), "spec.template.spec.containers"},
	{"container without a name", put("spec.template.spec.containers", "[{image: web}]"), "spec.template.spec.containers[0].name"},
	{"restartPolicy OnFailure", put("spec.template.spec.restartPolicy", "OnFailure"), "spec.template.spec.restartPolicy"},
	{"restartPolicy Never", put("spec.template.spec.restartPolicy", "Never"), "spec.template.spec.restartPolicy"},
	{"activeDeadlineSeconds", put("spec.template.spec.activeDeadlineSeconds", "5"), "template.spec.activeDeadlineSeconds is not allowed"},
	{"bad label key in the template", put("spec.template.metadata.labels", "{app: web, a b: c}"), "spec.template.metadata.labels: Invalid value"},
	{"bad label in the template", put("spec.template.metadata.labels.x", "a b"), "spec.template.metadata.labels.x"},

	// Numbers and policies.
	{"replicas negative", put("spec.replicas", "-1"), "spec.replicas"},
	{"replicas beyond any cluster", put("spec.replicas", "2147483647"), "spec.replicas in body should be less than or equal to 1000000"},
	{"K-101 minReadySeconds negative", put("spec.minReadySeconds", "-1"), "spec.minReadySeconds"},
	{"start negative", put("spec.ordinals.start", "-1"), "spec.ordinals.start"},
	{"ordinals above int32", all(put("spec.ordinals.start", "2147483647"), put("spec.replicas", "1")), "must not add up to more than 2147483647"},
	{"ordinals above int32 by reservation", all(put("spec.ordinals.start", "5"), put("spec.reserveOrdinals", `["0-2147483647"]`)), "must not add up to more than 2147483647"},
	{"unknown management policy", put("spec.podManagementPolicy", "Random"), "spec.podManagementPolicy"},
	{"serviceName is no DNS label", put("spec.serviceName", "a.b"), "spec.serviceName"},
	{"serviceName too long", put("spec.serviceName", strings.Repeat("s", 64)), "spec.serviceName"},
	{"unknown whenDeleted", put("spec.persistentVolumeClaimRetentionPolicy.whenDeleted", "Keep"), "whenDeleted"},
	{"unknown whenScaled", put("spec.persistentVolumeClaimRetentionPolicy.whenScaled", "Keep"), "whenScaled"},
	{"progressDeadlineSeconds negative", put("spec.progressDeadlineSeconds", "-1"), "spec.progressDeadlineSeconds"},

	// Update strategy.
	{"unknown budget", put(rollingPath+".budget", "PDB"), rollingPath + ".budget"},
	{"empty budget", put(rollingPath+".budget", "''"), rollingPath + ".budget"},
	{"budget with OnDelete", all(put("spec.updateStrategy.type", "OnDelete"), put(rollingPath+".budget", "PodDisruptionBudget")), "updateStrategy.rollingUpdate is only allowed with type RollingUpdate"},
	{"empty topologyKey", put(rollingPath+".topologyKey", "''"), rollingPath + ".topologyKey"},
	{"topologyKey is no label key", put(rollingPath+".topologyKey", "a b"), rollingPath + ".topologyKey"},
	{"topologyKey with two prefixes", put(rollingPath+".topologyKey", "a/b/c"), rollingPath + ".topologyKey"},
	{"topologyKey too long", put(rollingPath+".topologyKey", strings.Repeat("z", 64)), rollingPath + ".topologyKey"},
	{"unknown strategy", put("spec.updateStrategy.type", "BlueGreen"), "spec.updateStrategy.type"},
	{"OnDelete with rollingUpdate", put("spec.updateStrategy", "{type: OnDelete, rollingUpdate: {partition: 0}}"), "updateStrategy.rollingUpdate is only allowed with type RollingUpdate"},
	{"Recreate with rollingUpdate", put("spec.updateStrategy", "{type: Recreate, rollingUpdate: {}}"), "updateStrategy.rollingUpdate is only allowed with type RollingUpdate"},
	{"U-04 RollingUpdate with recreate", put("spec.updateStrategy", "{recreate: {onFailure: Rollback}}"), "updateStrategy.recreate is only allowed with type Recreate"},
	{"U-04 OnDelete with recreate", put("spec.updateStrategy", "{type: OnDelete, recreate: {}}"), "updateStrategy.recreate is only allowed with type Recreate"},
	{"U-04 Recreate that does something else on failure", put("spec.updateStrategy", "{type: Recreate, recreate: {onFailure: Panic}}"), "spec.updateStrategy.recreate.onFailure"},
	{"partition negative", put(rollingPath+".partition", "-1"), rollingPath + ".partition"},
	{"S-015 partition above the range", all(put("spec.replicas", "3"), put(rollingPath+".partition", "4")), "updateStrategy.rollingUpdate.partition is an ordinal"},
	{"S-015 partition below the range", all(put("spec.replicas", "3"), put("spec.ordinals.start", "5"), put(rollingPath+".partition", "4")), "updateStrategy.rollingUpdate.partition is an ordinal"},
	{"maxUnavailable 0", put(rollingPath+".maxUnavailable", "0"), "maxUnavailable must not be 0"},
	{"maxUnavailable 0%", put(rollingPath+".maxUnavailable", "0%"), "maxUnavailable must not be 0"},
	{"maxUnavailable 0 with no surge", put(rollingPath, "{maxUnavailable: 0, maxSurge: 0%}"), "maxUnavailable must not be 0"},
	{"maxUnavailable negative", put(rollingPath+".maxUnavailable", "-1"), "maxUnavailable must be a number of at least 0"},
	{"maxUnavailable 101%", put(rollingPath+".maxUnavailable", "101%"), "maxUnavailable must be a number of at least 0"},
	{"maxUnavailable is a word", put(rollingPath+".maxUnavailable", "many"), "maxUnavailable must be a number of at least 0"},
	{"maxUnavailable is a number in quotes", put(rollingPath+".maxUnavailable", "'1'"), "maxUnavailable must be a number of at least 0"},
	{"maxSurge negative", put(rollingPath+".maxSurge", "-1"), "maxSurge must be a number"},
	{"maxSurge 101%", put(rollingPath+".maxSurge", "101%"), "maxSurge must be a number"},
	{"R-048 rolling minReadySeconds negative", put(rollingPath+".minReadySeconds", "-1"), rollingPath + ".minReadySeconds"},
	{"R-048 rolling minReadySeconds above 300", put(rollingPath+".minReadySeconds", "301"), rollingPath + ".minReadySeconds"},
	{"unknown podUpdatePolicy", put(rollingPath+".podUpdatePolicy", "Restart"), rollingPath + ".podUpdatePolicy"},
	{"unknown onFailure", put(rollingPath+".onFailure", "Cry"), rollingPath + ".onFailure"},
	{"R-071 InPlaceIfPossible without the gate", put(rollingPath+".podUpdatePolicy", "InPlaceIfPossible"), "template.spec.readinessGates must have InPlaceUpdateReady"},
	{"R-071 InPlaceOnly with another gate", all(put(rollingPath+".podUpdatePolicy", "InPlaceOnly"), put("spec.template.spec.readinessGates", "[{conditionType: other}]")), "template.spec.readinessGates must have InPlaceUpdateReady"},
	{"gracePeriodSeconds negative", put(rollingPath+".inPlaceUpdateStrategy.gracePeriodSeconds", "-1"), "gracePeriodSeconds"},
	{"unorderedUpdate with OrderedReady", put(rollingPath+".unorderedUpdate.priorityStrategy", weights), "unorderedUpdate is only allowed with podManagementPolicy Parallel"},
	{"weights and orders", all(parallel, put(rollingPath+".unorderedUpdate.priorityStrategy", `{orderPriority: [{orderedKey: a}], weightPriority: [{weight: 1, matchSelector: {matchLabels: {a: b}}}]}`)), "only one of weightPriority and orderPriority"},
	{"weight above 100", all(parallel, put(rollingPath+".unorderedUpdate.priorityStrategy", `{weightPriority: [{weight: 101, matchSelector: {matchLabels: {a: b}}}]}`)), "weight"},
	{"weight without a selector", all(parallel, put(rollingPath+".unorderedUpdate.priorityStrategy", `{weightPriority: [{weight: 1, matchSelector: {}}]}`)), "matchSelector must not be empty"},
	{"empty orderedKey", all(parallel, put(rollingPath+".unorderedUpdate.priorityStrategy", `{orderPriority: [{orderedKey: ""}]}`)), "orderedKey"},

	// Reserved ordinals and scaling.
	{"R-010 reserved ordinal negative", put("spec.reserveOrdinals", "[-1]"), "spec.reserveOrdinals[0]"},
	{"R-010 reserved ordinal is a word", put("spec.reserveOrdinals", `["x"]`), "spec.reserveOrdinals[0]"},
	{"R-010 reserved number in quotes", put("spec.reserveOrdinals", `["3"]`), "spec.reserveOrdinals[0]"},
	{"R-010 reserved range without an end", put("spec.reserveOrdinals", `["3-"]`), "spec.reserveOrdinals[0]"},
	{"R-010 reserved range with spaces", put("spec.reserveOrdinals", `["3 - 5"]`), "spec.reserveOrdinals[0]"},
	{"R-010 reserved range backwards", put("spec.reserveOrdinals", `[1, "5-3"]`), "spec.reserveOrdinals[1]"},
	{"scaleStrategy with OrderedReady", put("spec.scaleStrategy.maxUnavailable", "2"), "scaleStrategy.maxUnavailable must be 1 unless podManagementPolicy is Parallel"},
	{"scaleStrategy percentage with OrderedReady", put("spec.scaleStrategy.maxUnavailable", "20%"), "scaleStrategy.maxUnavailable must be 1 unless podManagementPolicy is Parallel"},
	{"scaleStrategy 0", all(parallel, put("spec.scaleStrategy.maxUnavailable", "0")), "scaleStrategy.maxUnavailable must be a number of at least 1"},
	{"scaleStrategy 0%", all(parallel, put("spec.scaleStrategy.maxUnavailable", "0%")), "scaleStrategy.maxUnavailable must be a number of at least 1"},
	{"termination reason policy of another name", put("spec.terminationReasonPolicy", "Sometimes"), "spec.terminationReasonPolicy"},
	{"termination grace of pods that are not told", all(put("spec.terminationReasonPolicy", "Never"), put("spec.terminationReasonGraceSeconds", "5")), "terminationReasonGraceSeconds is not allowed with terminationReasonPolicy Never"},
	{"preDelete hook of pods that are not told", all(put("spec.terminationReasonPolicy", "Never"), put("spec.lifecycle", `{"preDelete": {"finalizersHandler": ["example.com/hook"]}}`)), "lifecycle.preDelete is not allowed with terminationReasonPolicy Never"},
	{"termination grace above 300", put("spec.terminationReasonGraceSeconds", "301"), "spec.terminationReasonGraceSeconds"},

	// Claims.
	{"claim template without a name", all(claimed, put("spec.volumeClaimTemplates.0.metadata", "{}")), "spec.volumeClaimTemplates[0].metadata.name"},
	{"claim template name is no DNS label", all(claimed, put("spec.volumeClaimTemplates.0.metadata.name", "a.b")), "spec.volumeClaimTemplates[0].metadata.name"},
	{"two claim templates of one name", put("spec.volumeClaimTemplates", "["+claim+", "+claim+"]"), "volumeClaimTemplates must have unique metadata.name"},
	{"claim template without a request", all(claimed, put("spec.volumeClaimTemplates.0.spec.resources", "{}")), "spec.volumeClaimTemplates[0].spec.resources.requests"},
	{"claim template that requests 0", all(claimed, put("spec.volumeClaimTemplates.0.spec.resources.requests.storage", "0")), "resources.requests.storage must be above 0"},
	{"claim template without access modes", all(claimed, put("spec.volumeClaimTemplates.0.spec.accessModes", "[]")), "spec.volumeClaimTemplates[0].spec.accessModes"},
	{"unknown claim update strategy", put("spec.volumeClaimUpdateStrategy.type", "Now"), "spec.volumeClaimUpdateStrategy.type"},
}

// TestRefused: every rule refuses its manifest, and its message names the field.
func TestRefused(t *testing.T) {
	namespace := newNamespace(t)
	for _, tc := range refusals {
		t.Run("K-211 R-140 "+tc.name, func(t *testing.T) {
			err := api.Create(bounded(t), manifest(t, ours, namespace, tc.edit), client.DryRunAll)
			wantRefused(t, err, tc.want)
		})
	}
}

func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("accepted; want a refusal with %q", want)
	case !apierrors.IsInvalid(err):
		t.Errorf("not refused as invalid: %v", err)
	case !strings.Contains(err.Error(), want):
		t.Errorf("refused, but not with %q: %v", want, err)
	case strings.Contains(err.Error(), "rule evaluation error"):
		t.Errorf("a rule failed rather than said no: %v", err)
	}
}

// acceptances are manifests at the edge of a rule.
var acceptances = []struct {
	name string
	edit edit
}{
	{"minimal", all()},
	{"name of 52 characters and the highest ordinal", all(put("metadata.name", strings.Repeat("w", 52)), put("spec.ordinals.start", "2147483600"), put("spec.replicas", "47"))},
	{"no service", drop("spec.serviceName")},
	{"empty service", put("spec.serviceName", "''")},
	{"selector by expressions", put("spec.selector", "{matchExpressions: [{key: app, operator: In, values: [web, x]}, {key: app, operator: Exists}, {key: tier, operator: DoesNotExist}, {key: tier, operator: NotIn, values: [db]}, {key: app, operator: NotIn, values: [db]}]}")},
	{"selector by a prefixed label", all(put("spec.selector", "{matchLabels: {example.com/app: ''}}"), put("spec.template.metadata.labels", "{example.com/app: '', app: web}"))},
	{"empty strategy", put("spec.updateStrategy", "{}")},
	{"budget None", put(rollingPath+".budget", "None")},
	{"budget PodDisruptionBudget in place", all(put(rollingPath+".budget", "PodDisruptionBudget"), put(rollingPath+".podUpdatePolicy", "InPlaceIfPossible"), put("spec.template.spec.readinessGates", gate))},
	{"topologyKey", put(rollingPath+".topologyKey", "topology.kubernetes.io/zone")},
	{"topologyKey without a prefix", put(rollingPath+".topologyKey", "Zone_1")},
	{"OnDelete", put("spec.updateStrategy.type", "OnDelete")},
	{"Recreate", put("spec.updateStrategy.type", "Recreate")},
	{"S-015 partition 0 though the range begins higher", all(put("spec.replicas", "3"), put("spec.ordinals.start", "5"), put(rollingPath+".partition", "0"))},
	{"S-015 partition at the begin", all(put("spec.replicas", "3"), put("spec.ordinals.start", "5"), put(rollingPath+".partition", "5"))},
	{"S-015 partition just above the range: nothing is updated", all(put("spec.replicas", "3"), put("spec.ordinals.start", "5"), put(rollingPath+".partition", "8"))},
	{"S-015 any partition of an empty slice", put(rollingPath+".partition", "7")},
	{"S-015 partition above a range that is widened by reservations", all(put("spec.replicas", "3"), put("spec.reserveOrdinals", `["0-9"]`), put(rollingPath+".partition", "12"))},
	{"maxUnavailable with OrderedReady", put(rollingPath+".maxUnavailable", "3")},
	{"maxUnavailable 1%", put(rollingPath+".maxUnavailable", "1%")},
	{"maxUnavailable 100%", put(rollingPath+".maxUnavailable", "100%")},
	{"maxUnavailable 0 with a surge", put(rollingPath, "{maxUnavailable: 0, maxSurge: 1}")},
	{"maxUnavailable 0% with a surge", put(rollingPath, "{maxUnavailable: 0%, maxSurge: 10%}")},
	{"R-071 in place with the gate", all(put(rollingPath+".podUpdatePolicy", "InPlaceOnly"), put("spec.template.spec.readinessGates", gate))},
	{"unorderedUpdate with Parallel", all(parallel, put(rollingPath+".unorderedUpdate.priorityStrategy", weights))},
	{"unorderedUpdate without priorities", all(parallel, put(rollingPath+".unorderedUpdate", "{}"))},
	{"R-010 reserved ordinals", put("spec.reserveOrdinals", `[0, 7, "3-5", "9-9"]`)},
	{"scaleStrategy with Parallel", all(parallel, put("spec.scaleStrategy.maxUnavailable", "20%"))},
	{"scaleStrategy 1 with OrderedReady", put("spec.scaleStrategy.maxUnavailable", "1")},
	{"K-209 revisionHistoryLimit -1", put("spec.revisionHistoryLimit", "-1")},
	{"K-216 hostname, subdomain and a volume named as a claim template", all(claimed, put("spec.template.spec.hostname", "h"), put("spec.template.spec.subdomain", "s"), put("spec.template.spec.volumes", "[{name: data, emptyDir: {}}]"))},
	{"a probe with zeros, which are filled in when the pod is created", put("spec.template.spec.containers.0.readinessProbe", "{httpGet: {port: 80}, timeoutSeconds: 0, periodSeconds: 0}")},
	{"lifecycle hooks", put("spec.lifecycle", "{preDelete: {labelsHandler: {a: b}, markPodNotReady: true}, inPlaceUpdate: {finalizersHandler: [example.com/x]}}")},
	{"K-101 minReadySeconds at both places", all(put("spec.minReadySeconds", "2147483647"), put(rollingPath+".minReadySeconds", "300"))},
}

func TestAccepted(t *testing.T) {
	namespace := newNamespace(t)
	for _, tc := range acceptances {
		t.Run(tc.name, func(t *testing.T) {
			object := manifest(t, ours, namespace, tc.edit)
			if err := api.Create(bounded(t), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Fatal(err)
			}
			typed(t, object)
		})
	}
}
