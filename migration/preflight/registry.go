package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/writers"
)

// Check looks for one reason why a migration would fail, before anything is written. An error means that the check
// could not be performed.
type Check struct {
	// Name identifies the check; docs/preflight.md has a heading for it.
	Name string
	// Group is the category in which it is shown; empty means GroupOther.
	Group Group
	// InPlace is true if the check is also about a migration in place, which has no other side.
	InPlace bool
	// Looks describes the check, Why the risk of its findings, and Remedy the usual fix. A finding has the fix for
	// its case.
	Looks, Why, Remedy string
	// Rules are the rights that the check needs on both sides. A migration that lacks one is refused before any
	// check. Reads that are optional need no rule.
	Rules []Rule
	// Run performs the check. It writes nothing, except as a dry run.
	Run func(context.Context, *Inspector, Subject) ([]plan.Finding, error)
}

// Subject is the migration that is checked, with its StatefulSets as read from the API servers.
type Subject struct {
	Migration *api.Migration
	Source    *appsv1.StatefulSet
	// Destination is nil when it does not exist yet.
	Destination *appsv1.StatefulSet
}

// Register adds a check after all others. It is called when a program starts. It panics if the check has no name or
// no function, or if the name is taken, because that is a programming error.
func Register(check Check) {
	taken := slices.ContainsFunc(checks, func(other Check) bool { return other.Name == check.Name })
	if check.Name == "" || check.Run == nil || taken {
		panic(fmt.Sprintf("check %q cannot be registered", check.Name))
	}
	checks = append(checks, check)
}

// checks are in the order of their findings, because the status shows the first finding.
var checks = slices.Concat([]Check{
	{
		Name: "one cluster", Group: GroupAccess,
		Looks:  "at whether two connections that return the same UID of namespace kube-system reach the same cluster.",
		Why:    "A clone of a cluster has that UID too, so an object of one would count as an object of the other.",
		Remedy: "If it is one cluster, use the same context or the same Secret for both sides. Do not move between a cluster and its clone.",
		Run:    ofSource((*Inspector).oneCluster),
	},
	{
		Name: "owner", Group: GroupWriters,
		Looks:  "at the controller that owns the StatefulSet, and whether its operator is paused by the documented setting.",
		Why:    "An operator restores replicas during the move.",
		Remedy: "Pause the operator's resource with the command in the finding, and leave it paused until the end.",
		Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
			return writers.Operator(ctx, e.Source, s.Source, s.Migration.Spec.Writers.Pause)
		},
	},
	{
		Name: "GitOps", Group: GroupWriters, InPlace: true,
		Looks:  "at the marks of Argo CD and Flux on the StatefulSet.",
		Why:    "The tool restores replicas and ordinals from its repository, which stalls the move.",
		Remedy: "Make the tool ignore both fields, or suspend it.",
		Run: pure(func(e *Inspector, s Subject) []plan.Finding {
			if s.Migration.Spec.Storage != nil {
				return writers.Templates(e.Source, s.Source)
			}
			return writers.GitOps(e.Source, s.Source)
		}),
	},
	{
		Name: "feature gates", Group: GroupPods,
		Looks:  "at the readiness gate of in-place updates, in the pod template of the destination.",
		Why:    "Only our own kind sets it: under apps/v1 no moved ordinal would become Ready.",
		Remedy: "Move to our own kind, or remove the gate from the template before the move.",
		Run: pure(func(e *Inspector, s Subject) []plan.Finding {
			return unopenedGate(e.Destination, s.Source, s.Destination)
		}),
	},
	{
		Name: "fields", Group: GroupPods,
		Looks:  "at fields of our own kind that a migration cannot keep, or that the destination's kind does not have.",
		Why:    "The destination would behave differently from the source.",
		Remedy: "Clear the fields, or move to our own kind.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return e.unsupportedFields(ctx)
		},
	},
	{
		Name: "autoscaler of the source", Group: GroupWriters, InPlace: true,
		Looks:  "for a HorizontalPodAutoscaler or a ScaledObject of KEDA that scales the source, and at how that is paused.",
		Why:    "It would add and remove ordinals during the move; a ScaledObject that is paused at a number scales to that number.",
		Remedy: "Pause KEDA's ScaledObject, or delete the autoscaler and create it at the destination after the move.",
		Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
			return writers.Autoscalers(ctx, e.Source, s.Migration.Spec.Writers.Pause)
		},
	},
	{
		Name: "autoscaler of the destination", Group: GroupWriters,
		Looks:  "for a HorizontalPodAutoscaler or a ScaledObject of KEDA that scales the destination, and at how that is paused.",
		Why:    "It would add and remove ordinals during the move; a ScaledObject that is paused at a number scales to that number.",
		Remedy: "Pause KEDA's ScaledObject, or create the autoscaler after the move.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return writers.Autoscalers(ctx, e.Destination, false)
		},
	},
	{
		Name: "rights over writers", Group: GroupWriters, InPlace: true,
		Looks:  "at whether the migration may patch each writer that it pauses: by name, in the writer's namespace.",
		Why:    "The move would begin, create the destination, and stall before its first stop.",
		Remedy: "Bind the ClusterRole sliceshift-mover-writers in the namespace of each writer, or pause it yourself.",
		Run:    ofSource((*Inspector).writerRights),
	},
	{
		Name: "fence", Group: GroupWriters,
		Looks:  "of a StatefulSet without claims: for the admission policy that keeps other writers from scaling it during the move.",
		Why:    "An ordinal that another writer starts would run on both sides until the migration has stopped it again.",
		Remedy: "Install the policy: kubectl migrate install --fence.",
		Run:    func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return e.unfenced(ctx, s) },
	},
	{
		Name: "VerticalPodAutoscaler", Group: GroupWriters, InPlace: true,
		Looks:  "for a VerticalPodAutoscaler that changes the source's pods.",
		Why:    "It evicts pods during the move, within their budget, and does not apply its requests to the destination's pods.",
		Remedy: "Set its updateMode to Off until the end, and create one at the destination.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return writers.VerticalAutoscalers(ctx, e.Source)
		},
	},
	{
		Name: "dependencies", Group: GroupPods,
		Looks:  "for objects that the pod template references, in the destination's namespace and cluster: ConfigMaps, Secrets, the ServiceAccount, classes and drivers; and for objects that the claims and volumes reference, such as the Secrets of a driver. If dependencies are copied: whether the copies would be admitted, and for objects that are never copied.",
		Why:    "A moved ordinal would be stopped and not start again.",
		Remedy: "Create the missing objects at the destination before the move, or copy them with spec.dependencies.mode: Copy.",
		Run:    ofSource((*Inspector).dependencies),
	},
	{
		Name: "rights of the account", Group: GroupPods,
		Looks:  "at the RoleBindings and ClusterRoleBindings of the pods' ServiceAccount, by its name or by a group: whether the destination binds the same roles, and whether roles of the same name grant the same permissions.",
		Why:    "The pods would start, but the API server would reject their requests, for example to unseal, to find peers or to check a token.",
		Remedy: "Bind the roles at the destination before the move. RoleBindings are copied with the other dependencies, ClusterRoleBindings never.",
		Run:    ofSource((*Inspector).accountBindings),
	},
	{
		Name: "leader election", Group: GroupPods,
		Looks:  "at whether the pods may choose a leader in the API of their cluster: by a variable that enables it, or by the permission of their ServiceAccount to write Leases, Endpoints or ConfigMaps.",
		Why:    "While the application runs on both sides, each side may have a leader that accepts writes.",
		Remedy: "Make both sides elect one leader before the move: with a store that both reach, or with one side that only follows, as in the recipe for Patroni.",
		Run:    ofSource((*Inspector).leaders),
	},
	{
		Name: dependencies.CheckImages, Group: GroupPods,
		Looks:  "at the images of the pod template: those of a registry within a cluster or on its nodes, and those with imagePullPolicy Never.",
		Why:    "Nodes of another cluster may not find them, and a moved ordinal would not start.",
		Remedy: "Push the images to a registry that both clusters reach, or load them onto the nodes.",
		Run:    pure(images),
	},
	{
		Name: dependencies.CheckNodeSetup, Group: GroupPods,
		Looks:  "for node settings that the pod template needs and that no API shows: seccomp and AppArmor profiles of the node, sysctls that a kubelet must allow, signers of certificates.",
		Why:    "The kubelet would not start the pod of a moved ordinal.",
		Remedy: "Set the nodes of the destination up like those of the source.",
		Run:    pure(nodeSetup),
	},
	{
		Name: dependencies.CheckScheduler, Group: GroupPods,
		Looks:  "at the pods' scheduler, unless it is the default one: whether it has bound any pod of the destination; and at scheduling gates.",
		Why:    "No scheduler would bind the pod of a moved ordinal, which would stay Pending.",
		Remedy: "Run the scheduler there before the move.",
		Run:    ofSource((*Inspector).schedulers),
	},
	{
		Name: dependencies.CheckOutside, Group: GroupVolumes,
		Looks:  "for data outside of claims: hostPath volumes that the pods may write to, and disks that the pod template references directly. Read-only volumes, sockets, devices other than disks, and kernel file systems pass.",
		Why:    "They do not move: a moved ordinal would start without them.",
		Remedy: "Put them on claims; or confirm with --shared NAME that the pods find the data they need there.",
		Run:    pure(outside),
	},
	{
		Name: "own credentials", Group: GroupPods,
		Looks:  "at the ServiceAccount and the Secrets that the pod template names: whether the migration itself uses them in the destination's namespace.",
		Why:    "The source's author writes the template: its pods would have all permissions of the migration at the destination.",
		Remedy: "Let the migration use another ServiceAccount than the pods, or move to another namespace than that of its Secrets.",
		Run:    ofSource((*Inspector).ownCredentials),
	},
	{
		Name: "leftovers", Group: GroupDestination,
		Looks:  "on both sides for objects that another migration of this StatefulSet has left: claims, pods, Services and snapshots that filled a second volume, Services with the names of ordinals, and a PodDisruptionBudget at its share.",
		Why:    "An ordinal of an unfinished handoff would stay down, and the other objects would never be removed.",
		Remedy: "Rebuild the record of that migration with --resume-uid, and complete it. It removes its own objects.",
		Run:    func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return e.leftovers(ctx, s) },
	},
	{
		Name: "claim templates", Group: GroupVolumes,
		Looks:  "at the claim templates that spec.volumes names: whether the source has them.",
		Why:    "The settings would not apply to the volumes they are meant for.",
		Remedy: "Correct the name.",
		Run:    pure(func(e *Inspector, s Subject) []plan.Finding { return unknownTemplates(e.Source, s.Migration, s.Source) }),
	},
	{
		Name: "shared claims", Group: GroupVolumes,
		Looks:  "at claims that the pod template references directly, which all ordinals share: whether the destination has them, on the same storage. Copies that the migration creates are checked too.",
		Why:    "The moved ordinals would not start, or would write to other storage than the rest.",
		Remedy: "Bind the claim at the destination to a volume of the same storage; or copy it, if nodes in the two clusters may mount it at the same time.",
		Run:    ofSource((*Inspector).sharedClaims),
	},
	{
		Name: "quotas", Group: GroupPods, InPlace: true,
		Looks:  "at the ResourceQuotas of the destination's namespace, and their use by all moving ordinals; if volumes move by a copy or a snapshot, at the quotas on each side, and their use by the copying pods, the claims, the Service of a copy and the VolumeSnapshots.",
		Why:    "The first ordinal that a quota refuses would be stopped and not start again.",
		Remedy: "Raise the quota, or move fewer ordinals.",
		Run:    ofSource((*Inspector).quotas),
	},
	{
		Name: "volumes", Group: GroupVolumes,
		Looks:  "at every moving volume, and every shared volume that the migration creates at the destination: whether its CSI driver is registered there, whether a node there matches its node affinity and can attach another volume, and whether another volume there uses the same disk.",
		Why:    "A moved pod would stay Pending without its volume, or two pods would write to one disk.",
		Remedy: "Install the driver for the same storage, let a node reach it, and remove the second volume of a disk.",
		Run:    ofSource((*Inspector).reachableVolumes),
	},
	{
		Name: "release", Group: GroupVolumes,
		Looks:  "for volumes without a VolumeAttachment: of drivers with attachRequired false, and of in-tree plugins.",
		Why:    "No API shows when the node has released the disk.",
		Remedy: "Make sure that the storage allows only one node to write at a time.",
		Run:    ofSource((*Inspector).release),
	},
	{
		Name: "storage classes", Group: GroupVolumes, InPlace: true,
		Looks:  "at the mapped storage class of each claim template: whether the destination has it, with the driver of the volumes; if the move needs new volumes and the class provisions none, whether enough free volumes fit.",
		Why:    "A new empty volume needs its class at once, or a volume that exists already. A volume that moves needs none, but the claim of an ordinal added later would stay Pending, or get another kind of volume.",
		Remedy: "Create the class there, or the volumes, or name another class in spec.volumes.",
		Run:    ofSource((*Inspector).classes),
	},
	{
		Name: "snapshots", Group: GroupVolumes, InPlace: true,
		Looks:  "at the first ordinal's volumes that move by a snapshot, their CSI driver in both clusters, and the classes of volumes and snapshots at the destination.",
		Why:    "An ordinal would be stopped and its snapshot never restored, or a rollback would be impossible.",
		Remedy: "Install the driver there, for the same storage, with a StorageClass and a VolumeSnapshotClass; or use another method.",
		Run:    ofSource((*Inspector).snapshots),
	},
	{
		Name: "resizes", Group: GroupVolumes, InPlace: true,
		Looks:  "for claims that are being resized.",
		Why:    "The progress of a resize does not move with the volume.",
		Remedy: "Wait until it is done.",
		Run:    ofSource((*Inspector).resizing),
	},
	{
		Name: "volumes of single pods", Group: GroupVolumes,
		Looks:  "at inline CSI volumes of the pod template: whether their driver provides such volumes at the destination.",
		Why:    "A moved pod could not start.",
		Remedy: "Install the driver there with the same CSIDriver settings as in the source's cluster.",
		Run:    ofSource((*Inspector).inline),
	},
	{
		Name: "rehearsal", Group: GroupPods,
		Looks:  "at the destination's answers to dry runs of the Service, the StatefulSet, and the first ordinal's claims and volumes; and at fields of the StatefulSet, its template included, that the API server drops.",
		Why:    "An admission policy, a webhook or an older version could reject them, or drop fields silently, when an ordinal is already down.",
		Remedy: "Let the policy allow them; upgrade the cluster to serve the fields, or remove them from the template before the move.",
		Run:    ofBoth((*Inspector).rehearse),
	},
	{
		Name: "pods that copy", Group: GroupVolumes, InPlace: true,
		Looks:  "if volumes move by a copy: at the answers of the two API servers to dry runs of the pods that copy the first ordinal's claims, the claims that they mount and their Service; if volumes move by a snapshot: at the destination's answer to a dry run of the pod that a new volume may wait for.",
		Why:    "Pod Security, a webhook or a limit could reject them when the ordinal is already down.",
		Remedy: "Let the policy allow them, or adapt them with copy.runAsUser, copy.resources and copy.serviceType.",
		Run:    ofSource((*Inspector).movers),
	},
	{
		Name: "ordinals", Group: GroupPods,
		Looks:  "at whether the API servers keep spec.ordinals.start in a dry run.",
		Why:    "Without it a slice would start with ordinal 0, which runs on the other side.",
		Remedy: "Use Kubernetes 1.27 or newer, or our own kind.",
		Run:    ofBoth((*Inspector).startOrdinals),
	},
	{
		Name: "admission of pods", Group: GroupPods,
		Looks:  "at the destination's answer to a dry run of the first ordinal's pod with its final labels: Pod Security, webhooks, limits, the RuntimeClass.",
		Why:    "A StatefulSet is admitted even if its pods are not: the first ordinal would be stopped and not start again.",
		Remedy: "Label the namespace for Pod Security as at the source, or let the policy allow the pods.",
		Run:    ofSource((*Inspector).admission),
	},
	{
		Name: "running pods", Group: GroupPods,
		Looks:  "at the running pod of the first ordinal, and at the pod that the destination would store: for containers, volumes, environment, mounts and labels that only the source adds.",
		Why:    "A webhook or another admission plugin adds them only at the source: a moved pod would run without its sidecar.",
		Remedy: "Install the same webhook at the destination, and label the namespace for its selector.",
		Run:    ofSource((*Inspector).running),
	},
	{
		Name: "nodes", Group: GroupPods,
		Looks:  "at whether a node of the destination fits the pods: its name, nodeSelector and node affinity, taints, resource requests, host ports, the architecture, topology spread, pod affinity and anti-affinity, and all of this together with the node affinity of each volume.",
		Why:    "A moved ordinal would be stopped and stay Pending.",
		Remedy: "Label, untaint or add nodes before the move; an autoscaler must keep at least one such node.",
		Run:    ofBoth((*Inspector).placement),
	},
	{
		Name: "versions", Group: GroupPods,
		Looks:  "at the versions of the two API servers and of the destination's kubelets.",
		Why:    "An older version may not support fields of the pods, and Kubernetes supports kubelets up to three minor versions older than their API server.",
		Remedy: "Upgrade the destination, or cordon the outdated nodes.",
		Run:    ofSource((*Inspector).skew),
	},
	{
		Name: "preStop hooks", Group: GroupPods,
		Looks:  "at the preStop hooks of the template, and the scripts of its ConfigMaps that they call, for words that make a member leave its cluster permanently.",
		Why:    "A hook runs whenever a handoff stops an ordinal; a member that has left is resynchronised or rejected when it returns.",
		Remedy: "Make the hook only step down, or distinguish a move from a scale-down.",
		Run:    ofSource((*Inspector).hooks),
	},
	{
		Name: "names", Group: GroupNames,
		Looks:  "at whether the names of the pods stay the same, if spec.services gives each ordinal a name for all clusters.",
		Why:    "A name that changes does not survive the move.",
		Remedy: "Keep name and namespace, or set spec.services.perOrdinal to None.",
		Run:    pure(func(e *Inspector, s Subject) []plan.Finding { return e.unnameable(s.Migration) }),
	},
	{
		Name: "names of one cluster", Group: GroupNames,
		Looks:  "at the environment, the arguments and the ConfigMaps of the template for names under svc.cluster.local, and names like web-0.web.",
		Why:    "They lead only to pods of the same cluster: on the other side to other pods, or to none.",
		Remedy: "Use the names under svc.clusterset.local from the finding, with spec.services.",
		Run:    ofSource((*Inspector).addresses),
	},
	{
		Name: "services", Group: GroupNames,
		Looks:  "at the environment, the arguments and the ConfigMaps of the template for short names of Services that only the source's namespace has, such as zookeeper:2181; at the Services that select the pods, and at node ports that clients may use.",
		Why:    "A moved pod cannot reach such a Service, and clients cannot reach a moved pod.",
		Remedy: "Create Services of these names at the destination before the move.",
		Run:    ofSource((*Inspector).services),
	},
	{
		Name: "exports", Group: GroupNames,
		Looks:  "at whether both clusters serve ServiceExport, if exports are enabled.",
		Why:    "Clients of the other cluster would not find the ordinals.",
		Remedy: "Install the Multi-Cluster Services API in both, or disable the exports.",
		Run:    pure((*Inspector).unexportable),
	},
	{
		Name: "health gates", Group: GroupOther, InPlace: true,
		Looks:  "at whether the health gates of spec.gates can be evaluated, and whether the migration may send requests to pods if a gate needs it.",
		Why:    "The move would begin, and wait for the gate indefinitely.",
		Remedy: "Correct the gate, and bind the ClusterRole sliceshift-mover-gates if a gate sends requests to pods.",
		Run:    ofSource((*Inspector).healthGates),
	},
	{
		Name: "hooks", Group: GroupOther, InPlace: true,
		Looks:  "at whether the hooks of spec.hooks can be run: their definition, the permissions, and the answers of the API servers to dry runs of their Jobs and of the Jobs' pods.",
		Why:    "The move would begin, and wait for a hook in the middle.",
		Remedy: "Correct the hook, bind the ClusterRole sliceshift-mover-jobs, or let the policy allow its pods.",
		Run:    ofSource((*Inspector).jobHooks),
	},
	{
		Name: "differences", Group: GroupDestination,
		Looks:  "at every field of a StatefulSet that already exists at the destination.",
		Why:    "A moved ordinal would run with another pod template.",
		Remedy: "Make both equal, or delete the destination's.",
		Run: pure(func(e *Inspector, s Subject) []plan.Finding {
			return differences(e.Destination, s.Migration, s.Source, s.Destination)
		}),
	},
}, inPlaceChecks())

// pure adapts a check that sends no requests.
func pure(find func(*Inspector, Subject) []plan.Finding) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(_ context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return find(e, s), nil }
}

// ofSource adapts a check of the migration and its source.
func ofSource(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return find(e, ctx, s.Migration, s.Source)
	}
}

// ofBoth adapts a check of the migration and both StatefulSets.
func ofBoth(find func(*Inspector, context.Context, *api.Migration, *appsv1.StatefulSet, *appsv1.StatefulSet) ([]plan.Finding, error)) func(context.Context, *Inspector, Subject) ([]plan.Finding, error) {
	return func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
		return find(e, ctx, s.Migration, s.Source, s.Destination)
	}
}
