package move

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/volumes"
)

// staged is a bad situation and the one check that finds it.
type staged struct {
	check, how string
	app        fixture.App
	set        harness.Setting
	stage      func(*move)
	// flags returns additional flags.
	flags func(*move) []string
	// want is the expected verdict with its reason.
	want string
}

// checkedElsewhere lists the checks whose situation cannot be created in a cluster of this version.
var checkedElsewhere = map[string]string{
	"ordinals": "every API server since Kubernetes 1.31 keeps spec.ordinals: migration/preflight TestStartOrdinals",
	"on call":  "TestToyCheck",

	"one cluster": "a cluster that was cloned is one that lies: TestHostile, K1 it says that it is ours",

	"snapshots": "these clusters have no API of snapshots, which is found with the claims: migration/preflight/storage TestSnapshots",

	"rights over writers": "it comes with what the check has found that finds the writer: TestRightsOverWriters",

	"paused writers": "it comes with what the check has found that finds the writer: TestWriterIsHeld",
}

func flags(words ...string) func(*move) []string { return func(*move) []string { return words } }

// adapted returns an application with a changed StatefulSet.
func adapted(replicas int32, change func(*appsv1.StatefulSet)) fixture.App {
	app := harness.Usual(replicas)
	app.Adapt = change
	return app
}

func template(change func(*corev1.PodSpec)) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { change(&set.Spec.Template.Spec) }
}

// stagedChecks returns situations, each of which exactly one check finds.
func stagedChecks() []staged {
	const fail, warn = "fail ", "warn "
	usual, across := harness.Usual(1), harness.AcrossClusters
	copied := flags("--volume", "data=copy,image=mover,service=load-balancer,downtime=5m")
	return []staged{
		{"", "nothing is wrong", harness.Usual(2), across, nil, nil, ""},
		{"rights", "half of them", usual, across, nil, (*move).halfTheRights, fail + api.ReasonPermissionMissing},
		{"own credentials", "the account of the pods", usual, across, nil, (*move).asTheirAccount, fail + api.ReasonOwnCredentials},
		{"rights of the account", "P10 a ClusterRoleBinding of the source alone", usual, across, func(v *move) { v.bindAccount("system:auth-delegator") }, nil, warn + api.ReasonAccountUnbound},
		{"rights of the account", "P10 a RoleBinding of another namespace", usual, across, func(v *move) { v.bindElsewhere("extension-apiserver-authentication-reader") }, nil, warn + api.ReasonAccountUnbound},
		{"leader election", "P6 a variable of Patroni", adapted(1, template(func(s *corev1.PodSpec) {
			s.Containers[0].Env = []corev1.EnvVar{{Name: "PATRONI_KUBERNETES_USE_ENDPOINTS", Value: "true"}}
		})), across, nil, nil, warn + api.ReasonElectsLeader},
		{"images", "P11 of a registry of the cluster", adapted(1, template(func(s *corev1.PodSpec) { s.Containers[0].Image = "registry.infra.svc:5000/app:1" })), across, nil, nil, warn + api.ReasonImageIsLocal},
		{"node setup", "P11 a profile of the node", adapted(1, template(func(s *corev1.PodSpec) {
			s.SecurityContext = &corev1.PodSecurityContext{SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: new("a.json")}}
		})), across, nil, nil, warn + api.ReasonNodeSetupUnseen},
		{"schedulers", "P11 one that binds nothing there", usual, across, func(v *move) { v.ownScheduler() }, nil, warn + api.ReasonSchedulerUnseen},
		{"data outside claims", "P5 a folder of the node", adapted(1, template(hostFolder("/srv/data"))), across, nil, nil, fail + api.ReasonDataOutsideClaims},
		{"", "P5 a folder of the node that the pods do not need", adapted(1, template(hostFolder("/srv/data"))), across, nil, flags("--shared", "folder"), ""},
		{"running pods", "P9 something adds a sidecar at the source", harness.Usual(1), across, func(v *move) { v.addSidecar() }, nil, warn + api.ReasonPodDiffers},
		{"services", "P7 a short name", adapted(1, template(func(s *corev1.PodSpec) {
			s.Containers[0].Env = []corev1.EnvVar{{Name: "ZK", Value: "zookeeper:2181"}}
		})), across, func(v *move) {
			from, _ := v.clients()
			v.Must(from.Create(v.Ctx, v.podService("zookeeper", "other-0")))
		}, nil, warn + api.ReasonNamesAreLocal},
		{"dependencies", "P11 a Secret of the volume's driver", usual, withSecretElsewhere, func(v *move) { v.csiNode(9); v.csiClass() }, (*move).csiClassFlag, fail + api.ReasonDependencyMissing},
		{"numbers of ordinals", "beyond the last one", usual, across, func(v *move) { v.patchSource(`{"spec":{"ordinals":{"start":2147483647}}}`) }, nil, fail + api.ReasonOrdinalsUnbounded},
		{"source", "a pod is not Ready", harness.Usual(2), across, func(v *move) { v.breakPod("web-0") }, nil, fail + api.ReasonSourceNotHealthy},
		{"source", "it does not exist", usual, across, func(v *move) { v.App.Name = "nobody" }, nil, fail + api.ReasonSourceMissing},
		{"disruption budget", "of nothing", fixture.App{Replicas: 1, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("0")}, across, nil, nil, fail + api.ReasonBudgetZero},
		{"form of the budget", "a share that is rounded up", fixture.App{Replicas: 3, Claims: []string{"data"}, MaxUnavailable: harness.IntOrString("34%")}, across, nil, nil, warn + api.ReasonBudgetForm},
		{"destination", "another migration holds it", usual, across, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) {
				set.Annotations = map[string]string{api.FenceAnnotationKey: "another.1"}
			})
		}, nil, fail + api.ReasonHeldByAnother},
		{"slices", "they do not lie side by side", usual, across, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Replicas, set.Spec.Ordinals.Start = ptr.To[int32](1), 7 })
			v.Must(fixture.App{Namespace: v.ToNamespace, Name: v.App.Name}.AwaitReady(v.Ctx, v.Destination))
		}, nil, fail + api.ReasonDestinationNotEmpty},
		{"claims", "one that takes longer to read than its ordinal may be down", usual, across, nil, flags("--volume", "data=copy,image=mover,service=load-balancer,downtime=10s"), warn + volumes.ReasonCopyMayNotFit},
		{"claims", "a foreign one", usual, across, func(v *move) { v.Must(v.makeNamespace()); v.foreignClaim() }, nil, fail + volumes.ReasonForeignClaim},
		{"services of ordinals", "a name is taken", harness.Usual(2), across, func(v *move) {
			from, _ := v.servingExports()
			v.Must(from.Create(v.Ctx, v.podService("web-1", "other-1")))
		}, flags("--export-ordinals"), fail + api.ReasonServiceTaken},
		{"owner", "an operator", usual, across, func(v *move) {
			v.patchSource(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"` + v.App.Namespace + `","uid":"` + v.namespaceUID() + `","controller":true}]}}`)
		}, nil, fail + api.ReasonOwnedByOperator},
		{"GitOps", "Argo CD", usual, across, func(v *move) {
			v.patchSource(`{"metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"store:apps/StatefulSet:shop/web"}}}`)
		}, nil, warn + api.ReasonTrackedByGitOps},
		{"autoscaler of the source", "a HorizontalPodAutoscaler", usual, across, func(v *move) { v.scaler() }, nil, fail + api.ReasonAutoscaled},
		{"autoscaler of the source", "a ScaledObject", usual, across, func(v *move) { v.writer(v.Here(), scaledObject) }, nil, fail + api.ReasonAutoscaled},
		{"autoscaler of the source", "a ScaledObject that is paused", usual, across, func(v *move) {
			v.writer(v.Here(), scaledObject, "autoscaling.keda.sh/paused", "true")
		}, nil, warn + api.ReasonAutoscaled},
		{"autoscaler of the destination", "a ScaledObject", usual, across, func(v *move) { v.Must(v.makeNamespace()); v.writer(v.There(), scaledObject) }, nil, fail + api.ReasonAutoscaled},
		{"fence", "no policy keeps other writers from a set without claims", fixture.App{Replicas: 1, MaxUnavailable: harness.IntOrString("1")}, across, nil, nil, warn + api.ReasonFenceMissing},
		{"VerticalPodAutoscaler", "it recreates", usual, across, func(v *move) { v.writer(v.Here(), verticalAutoscaler) }, nil, warn + api.ReasonAutoscaled},
		{"feature gates", "a gate that nobody opens", adapted(1, template(func(s *corev1.PodSpec) {
			s.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: slicesapi.InPlaceUpdateReady}}
		})), across, nil, nil, fail + api.ReasonKindUnsupported},
		{"dependencies", "a ConfigMap", usual, across, func(v *move) { v.needConfigMap("settings") }, nil, fail + api.ReasonDependencyMissing},
		{"copies of dependencies", "another one is there", usual, across, func(v *move) { v.needConfigMap("settings"); v.otherConfigMap("settings") }, flags("--copy-dependencies"), fail + api.ReasonDependencyDiffers},
		{"health gates", "one does not compile", usual, across, nil, func(v *move) []string {
			return flags("--gates", v.gatesFile("gates: [{name: a, at: [AtEnd], cel: {objects: {apiVersion: v1, kind: Pod, name: a}, expression: 'objects +'}}]"))(v)
		}, fail + api.ReasonGateInvalid},
		{"hooks", "a Job is refused", usual, across, nil, func(v *move) []string {
			return flags("--hooks", v.hooksFile("hooks: [{name: a, point: BeforeOrdinal, job: {spec: {template: {spec: {restartPolicy: Always, containers: [{name: tool, image: tool}]}}}}}]"))(v)
		}, fail + api.ReasonHookRefused},
		{"schedule", "its last window is over", usual, across, nil, flags("--not-after", "2020-01-01T00:00:00Z"), fail + api.ReasonScheduleNeverOpens},
		{"claim templates", "one that it does not have", usual, across, nil, flags("--shared", "dat"), fail + api.ReasonClaimTemplateMissing},
		{"shared claims", "missing there", usual, across, func(v *move) { v.shareClaim("/a", "") }, nil, fail + api.ReasonDependencyMissing},
		{"quotas", "too small", harness.Usual(2), across, func(v *move) { v.Must(v.makeNamespace()); v.claimQuota("1") }, nil, fail + api.ReasonQuotaTooSmall},
		{"quotas", "no room for the copy", usual, across, func(v *move) { v.Must(v.makeNamespace()); v.claimQuota("1") }, copied, fail + api.ReasonQuotaTooSmall},
		{"volumes", "no node reaches one", usual, across, func(v *move) { v.pinVolume() }, nil, fail + volumes.ReasonVolumeOutOfReach},
		{"release", "it is not seen", usual, onCSI, func(v *move) { v.csiNode(9); v.csiClass(); v.unattached() }, (*move).csiClassFlag, warn + volumes.ReasonReleaseUnseen},
		{"storage classes", "it is not there", usual, across, nil, flags("--storage-class", "data=gone"), warn + volumes.ReasonClassMissing},
		{"storage classes", "nobody has made volumes", usual, across, func(v *move) { v.classOf("kubernetes.io/no-provisioner") }, func(v *move) []string {
			return append(v.csiClassFlag(), copied(v)...)
		}, fail + volumes.ReasonVolumesTooFew},
		{"resizes", "one is under way", usual, across, func(v *move) { v.resizing() }, nil, warn + volumes.ReasonResizePending},
		{"volumes of single pods", "a driver of claims only", adapted(1, template(func(s *corev1.PodSpec) {
			s.Volumes = append(s.Volumes, corev1.Volume{Name: "keys", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "keys.example.com"}}})
		})), across, func(v *move) { v.claimsOnly("keys.example.com") }, nil, fail + volumes.ReasonDriverMissing},
		{"rehearsal", "a policy refuses the StatefulSet", usual, across, func(v *move) { v.Must(v.makeNamespace()); v.refuseSets() }, nil, fail + api.ReasonWriteRefused},
		{"pods that copy", "Pod Security", usual, across, func(v *move) { v.restrictPodsAt(v.Here()) }, copied, fail + api.ReasonWriteRefused},
		{"pods that copy", "a LimitRange", usual, across, func(v *move) { v.Must(v.makeNamespace()); v.limitMemory("256Mi") }, copied, fail + api.ReasonWriteRefused},
		{"admission of pods", "Pod Security", usual, across, func(v *move) { v.restrictPods() }, nil, fail + api.ReasonWriteRefused},
		{"nodes", "none has the label", usual, across, func(v *move) { v.chooseNode() }, nil, fail + api.ReasonNoNodeFits},
		{"preStop hooks", "it decommissions", adapted(1, template(func(s *corev1.PodSpec) {
			s.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"nodetool", "decommission"}}}}
		})), across, nil, nil, warn + api.ReasonHookMayDecommission},
		{"names of one cluster", "a peer", adapted(1, template(func(s *corev1.PodSpec) {
			s.Containers[0].Env = []corev1.EnvVar{{Name: "PEERS", Value: "web-0.web.shop.svc.cluster.local:2380"}}
		})), across, nil, nil, warn + api.ReasonNamesAreLocal},
		{"names", "they would change", usual, harness.AcrossNames, func(v *move) { v.servingExports() }, flags("--export-ordinals"), fail + api.ReasonNameImpossible},
		{"leftovers", "H1: a pod beside the claim of an ordinal that no slice owns", usual, across, func(v *move) { v.leavePod(3) }, nil, fail + api.ReasonOrdinalLeftOut},
		{"leftovers", "H1: a pod beside the claim of an ordinal that runs", usual, across, func(v *move) { v.leavePod(0) }, nil, warn + api.ReasonLeftByAnother},
		{"leftovers", "H1: the Service of an ordinal that no slice owns", usual, across, func(v *move) { v.leaveService("web-3") }, nil, warn + api.ReasonLeftByAnother},
		{"differences", "another image", usual, across, func(v *move) {
			v.putDestination(func(set *appsv1.StatefulSet) { set.Spec.Template.Spec.Containers[0].Image = "app:2" })
		}, nil, fail + api.ReasonDestinationDiffers},
	}
}

// TestChecks stages a bad situation for every check of the catalogue, between real API servers. The command
// reports exactly that check.
func TestChecks(t *testing.T) {
	t.Parallel()
	var done []staged
	t.Run("two clusters", func(t *testing.T) {
		for _, tc := range stagedChecks() {
			done = append(done, tc)
			t.Run(tc.check+" "+tc.how, func(t *testing.T) {
				t.Parallel()
				v := newMove(t, tc.app, tc.set)
				if tc.stage != nil {
					tc.stage(v)
				}
				tc.expect(v)
			})
		}
	})
	t.Run("fields of our own kind", func(t *testing.T) {
		tc := staged{check: "fields", want: "fail " + api.ReasonKindUnsupported, flags: flags("--api-version", slicesapi.GroupVersion.String())}
		done = append(done, tc)
		v := newKindMove(t, [2]string{slice, slice})
		v.Must(v.reserve(v.Here(), "[7]", "helm"))
		tc.expect(v)
	})
	// Situations that affect a whole cluster need a cluster that no other test uses.
	alone := startBare(t, "alone", cluster.Options{})
	for _, tc := range []staged{
		{check: "kinds", flags: flags("--to-api-version", slicesapi.GroupVersion.String()), want: "fail " + api.ReasonKindUnsupported},
		{check: "exports", flags: flags("--export-services"), want: "fail " + api.ReasonExportUnsupported},
		{check: "exports", how: "for what is copied", flags: flags("--volume", "data=copy,image=m,service=export"), want: "fail " + api.ReasonExportUnsupported},
		{check: "versions", stage: func(v *move) { v.oldKubelet() }, want: "warn " + api.ReasonVersionSkew},
		{check: "nodes", stage: func(v *move) { v.taintAll() }, want: "fail " + api.ReasonNoNodeFits},
	} {
		done = append(done, tc)
		t.Run(tc.check+" of a whole cluster "+tc.how, func(t *testing.T) {
			v := newMove(t, harness.Usual(1), func(v *harness.Move) { v.From, v.To = harness.East(), alone.Cluster })
			if tc.stage != nil {
				tc.stage(v)
			}
			tc.expect(v)
		})
	}
	staged := map[string]bool{}
	for _, tc := range done {
		staged[tc.check] = true
	}
	for _, check := range preflight.Catalogue() {
		if !staged[check.Name] && checkedElsewhere[check.Name] == "" {
			t.Errorf("check %q is not staged", check.Name)
		}
	}
}

// expect runs the command and checks that every other check has passed or could not run.
func (tc staged) expect(v *move) {
	v.T.Helper()
	var more []string
	if tc.flags != nil {
		more = tc.flags(v)
	}
	report := v.preflight(more...)
	found, want := map[string]string{}, map[string]string{}
	if tc.want != "" {
		want[tc.check] = tc.want
	}
	for _, group := range report.Groups {
		for _, check := range group.Checks {
			if len(check.Findings) > 0 {
				found[check.Check] = string(check.Verdict) + " " + check.Findings[0].Reason
			}
			for _, f := range check.Findings {
				v.T.Logf("%s: %s: %s; %s", check.Check, f.Reason, f.Message, f.Remedy)
			}
		}
	}
	if diff := cmp.Diff(want, found); diff != "" {
		v.T.Errorf("-want +got\n%s", diff)
	}
}

// preflight runs the command. It checks that the exit code agrees with the failed checks.
func (v *move) preflight(more ...string) preflight.Report {
	v.T.Helper()
	args := []string{
		"preflight", v.App.Name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", v.To.Kubeconfig(),
		"--to-namespace", v.ToNamespace, "--to-name", v.ToName, "--create-namespace", "-o", "json",
	}
	if len(v.App.Claims) > 0 {
		args = append(args, "--shared", "data")
	}
	cmd := exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), append(args, more...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	v.Must(child.Start(cmd))
	code := codeOf(cmd.Wait())
	var report preflight.Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		v.T.Fatalf("ended with %d: %v\n%s%s", code, err, out.String(), errs.String())
	}
	if failed := code == 3; failed != (report.Failed > 0) || !failed && code != 0 {
		v.T.Errorf("ended with %d, and %d have failed", code, report.Failed)
	}
	return report
}
