package preflight

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/preflight/writers"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Check looks for one reason why a migration would fail, before anything is written. An error means that the check
// could not be performed.
type Check struct {
	// Name identifies the check; docs/preflight.md has a heading for it.
	Name string
	// Group is the category in which it is shown; empty means GroupOther.
	Group Group
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
var checks = []Check{
	{
		Name: "one cluster", Group: GroupAccess,
		Looks:  "where both sides give the same UID for namespace kube-system over two connections: at whether they answer as one cluster does.",
		Why:    "A cluster that was cloned from the other one has that UID too. An object of one would count as an object of the other.",
		Remedy: "Name the cluster alike for both sides where it is one: one context, or one Secret. Between a cluster and its clone, move nothing.",
		Run:    ofSource((*Inspector).oneCluster),
	},
	{
		Name: "owner", Group: GroupWriters,
		Looks:  "at the controller that owns the StatefulSet, and whether its operator is paused by the setting that the operator documents.",
		Why:    "An operator writes replicas back in mid-move.",
		Remedy: "Pause the operator's resource with the command that the finding has, and leave it paused until the end.",
		Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
			return writers.Operator(ctx, e.Source, s.Source, s.Migration.Spec.Writers.Pause)
		},
	},
	{
		Name: "GitOps", Group: GroupWriters,
		Looks:  "at the marks of Argo CD and Flux on the StatefulSet.",
		Why:    "What a repository says of replicas and ordinals is written back, which stalls the move.",
		Remedy: "Have the tool ignore both fields, or suspend it.",
		Run:    pure(func(e *Inspector, s Subject) []plan.Finding { return writers.GitOps(e.Source, s.Source) }),
	},
	{
		Name: "feature gates", Group: GroupPods,
		Looks:  "at the readiness gate of updates in place, in the template of what is to run at the destination.",
		Why:    "Only our own kind opens it: under apps/v1 no moved ordinal would get Ready.",
		Remedy: "Move to our own kind, or take the gate out of the template before the move.",
		Run: pure(func(e *Inspector, s Subject) []plan.Finding {
			return unopenedGate(e.Destination, s.Source, s.Destination)
		}),
	},
	{
		Name: "fields", Group: GroupPods,
		Looks:  "at fields of our own kind that a migration cannot keep, or that the destination's kind does not have.",
		Why:    "The destination would behave otherwise than the source.",
		Remedy: "Clear the fields, or move to our own kind.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return e.unsupportedFields(ctx)
		},
	},
	{
		Name: "autoscaler of the source", Group: GroupWriters,
		Looks:  "for a HorizontalPodAutoscaler or a ScaledObject of KEDA over the source, and at how that is paused.",
		Why:    "It would add and remove ordinals in mid-move; a ScaledObject that is paused at a number scales to that number.",
		Remedy: "Pause KEDA's ScaledObject, or delete the autoscaler and create it at the destination after the move.",
		Run: func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) {
			return writers.Autoscalers(ctx, e.Source, s.Migration.Spec.Writers.Pause)
		},
	},
	{
		Name: "autoscaler of the destination", Group: GroupWriters,
		Looks:  "for a HorizontalPodAutoscaler or a ScaledObject of KEDA over the destination, and at how that is paused.",
		Why:    "It would add and remove ordinals in mid-move; a ScaledObject that is paused at a number scales to that number.",
		Remedy: "Pause KEDA's ScaledObject, or create the autoscaler after the move.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return writers.Autoscalers(ctx, e.Destination, false)
		},
	},
	{
		Name: "rights over writers", Group: GroupWriters,
		Looks:  "at whether each writer that is to be paused may be patched: by its name, in its own namespace.",
		Why:    "The move would begin, make the destination, and stall before its first stop.",
		Remedy: "Bind the ClusterRole sliceshift-mover-writers in the namespace of each writer, or pause it yourself.",
		Run:    ofSource((*Inspector).writerRights),
	},
	{
		Name: "fence", Group: GroupWriters,
		Looks:  "of a StatefulSet without claims: for the admission policy that keeps other writers from scaling it during the move.",
		Why:    "An ordinal that another writer starts would run on both sides until the migration has taken its own start back.",
		Remedy: "Install the policy: kubectl migrate install --fence.",
		Run:    func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return e.unfenced(ctx, s) },
	},
	{
		Name: "VerticalPodAutoscaler", Group: GroupWriters,
		Looks:  "for a VerticalPodAutoscaler over the source that changes its pods.",
		Why:    "It evicts pods in mid-move, within their budget, and the pods of the destination do not get what it gives.",
		Remedy: "Set its updateMode to Off until the end, and have one at the destination.",
		Run: func(ctx context.Context, e *Inspector, _ Subject) ([]plan.Finding, error) {
			return writers.VerticalAutoscalers(ctx, e.Source)
		},
	},
	{
		Name: "dependencies", Group: GroupPods,
		Looks:  "for what the pod template names, by name, in the destination's namespace and cluster: ConfigMaps, Secrets, the ServiceAccount, classes and drivers; and for what the claims and volumes name, such as the Secrets of a driver. Where they are to be copied: whether the copies would be let in, and for what is never copied.",
		Why:    "A moved ordinal would be stopped and not start again.",
		Remedy: "Create what is missing at the destination before the move, or have it copied.",
		Run:    ofSource((*Inspector).dependencies),
	},
	{
		Name: "rights of the account", Group: GroupPods,
		Looks:  "at the RoleBindings and ClusterRoleBindings that reach the ServiceAccount of the pods, by its name or by a group: whether the destination gives it the same roles, and roles of one name allow the same.",
		Why:    "The pods start, and what they ask of the API server is refused: to unseal, to find their peers, to check a token.",
		Remedy: "Bind the roles at the destination before the move. RoleBindings are copied with the other dependencies, ClusterRoleBindings never.",
		Run:    ofSource((*Inspector).accountBindings),
	},
	{
		Name: "leader election", Group: GroupPods,
		Looks:  "at whether the pods may choose a leader in the API of their cluster: by a variable that says so, or the right of their account to write Leases, Endpoints or ConfigMaps.",
		Why:    "While the application is on both sides, each side may have a leader that takes writes.",
		Remedy: "Have both sides agree on one before the move: a store that both reach, or one side that only follows, as the recipe for Patroni has it.",
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
		Looks:  "for what the pod template needs of a node that no API shows: seccomp and AppArmor profiles of the node, sysctls that a kubelet must allow, signers of certificates.",
		Why:    "The kubelet would not start the pod of a moved ordinal.",
		Remedy: "Set the nodes of the destination up like those of the source.",
		Run:    pure(nodeSetup),
	},
	{
		Name: dependencies.CheckScheduler, Group: GroupPods,
		Looks:  "at the scheduler that the pods ask for, unless it is that of each cluster: whether it has bound any pod of the destination; and at scheduling gates.",
		Why:    "Nobody would bind the pod of a moved ordinal, and it would stay Pending.",
		Remedy: "Run the scheduler there before the move.",
		Run:    ofSource((*Inspector).schedulers),
	},
	{
		Name: dependencies.CheckOutside, Group: GroupVolumes,
		Looks:  "for data that are on no claim: hostPath volumes that the pods may write to, and disks that the pod template names itself. What is read-only, a socket, a device that is no disk, or of the kernel passes.",
		Why:    "They do not move: a moved ordinal would start without them.",
		Remedy: "Put them on claims; or say with --shared NAME that the pods find there what they need.",
		Run:    pure(outside),
	},
	{
		Name: "own credentials", Group: GroupPods,
		Looks:  "at the ServiceAccount and the Secrets that the pod template names: whether the migration itself uses them in the destination's namespace.",
		Why:    "The source chooses the template: its pods could do at the destination all that the migration may do.",
		Remedy: "Have the migration act as another ServiceAccount than the pods, or move to another namespace than that of its Secrets.",
		Run:    ofSource((*Inspector).ownCredentials),
	},
	{
		Name: "leftovers", Group: GroupDestination,
		Looks:  "on both sides for objects that another migration of this StatefulSet has left: claims, pods, Services and snapshots that filled a second volume, Services with the names of ordinals, and a PodDisruptionBudget at its share.",
		Why:    "An ordinal that no slice owns, and that was being moved, would stay down. Everything else would stay for good.",
		Remedy: "Rebuild the record of that migration with --resume-uid, and let it end. It removes its own objects.",
		Run:    func(ctx context.Context, e *Inspector, s Subject) ([]plan.Finding, error) { return e.leftovers(ctx, s) },
	},
	{
		Name: "claim templates", Group: GroupVolumes,
		Looks:  "at the claim templates that spec.volumes names: whether the source has them.",
		Why:    "What was meant for volumes that are named otherwise would not be done with them.",
		Remedy: "Correct the name.",
		Run:    pure(func(e *Inspector, s Subject) []plan.Finding { return unknownTemplates(e.Source, s.Migration, s.Source) }),
	},
	{
		Name: "shared claims", Group: GroupVolumes,
		Looks:  "at claims that the pod template names itself, which all ordinals share: whether the destination has them, on the same storage. Where they are to be copied, and are not there, the copies are judged.",
		Why:    "The moved ordinals would not start, or write apart from the others.",
		Remedy: "Bind the claim at the destination to a volume of the same storage; or have it copied, where machines of both clusters may have it mounted.",
		Run:    ofSource((*Inspector).sharedClaims),
	},
	{
		Name: "quotas", Group: GroupPods,
		Looks:  "at the ResourceQuotas of the destination's namespace, and what all ordinals that are to move take of them; where volumes are copied or move by a snapshot, at those of both sides, and what that takes of them besides: its pods, its claims, the Service of a copy, the VolumeSnapshots.",
		Why:    "The first ordinal that a quota refuses would be stopped and not start again.",
		Remedy: "Raise the quota, or move fewer ordinals.",
		Run:    ofSource((*Inspector).quotas),
	},
	{
		Name: "volumes", Group: GroupVolumes,
		Looks:  "at every volume that is to move, or that all ordinals share and is to be made at the destination: whether its CSI driver is registered at the destination, whether a node there matches its node affinity and may attach one more, and whether another volume there is the same disk.",
		Why:    "A moved pod would stay Pending without its volume, or two pods would write to one disk.",
		Remedy: "Install the driver for the same storage, let a node reach it, and remove the second volume of a disk.",
		Run:    ofSource((*Inspector).reachableVolumes),
	},
	{
		Name: "release", Group: GroupVolumes,
		Looks:  "for volumes without a VolumeAttachment: of drivers with attachRequired false, and of in-tree plugins.",
		Why:    "Nothing shows when the machine has let go of the disk.",
		Remedy: "See to it that the storage lets one machine write at a time.",
		Run:    ofSource((*Inspector).release),
	},
	{
		Name: "storage classes", Group: GroupVolumes,
		Looks:  "at the storage class of each claim template, as it is mapped: whether the destination has it, and for the driver of the volumes; where new volumes are made, and the class makes none, whether enough are free that fit.",
		Why:    "What starts empty needs its class at once, or a volume that somebody has made. What is carried over needs none; the claim of an ordinal that is added later would stay Pending, or get another kind of volume.",
		Remedy: "Create the class there, or the volumes, or name another class in spec.volumes.",
		Run:    ofSource((*Inspector).classes),
	},
	{
		Name: "snapshots", Group: GroupVolumes,
		Looks:  "where volumes move by a snapshot: at the first ordinal's volumes, their CSI driver in both clusters, the classes of volumes and of snapshots at the destination.",
		Why:    "An ordinal would be stopped, and its snapshot never restored; or it could not come back.",
		Remedy: "Have the driver there, for the same storage, with a StorageClass and a VolumeSnapshotClass; or name another method.",
		Run:    ofSource((*Inspector).snapshots),
	},
	{
		Name: "resizes", Group: GroupVolumes,
		Looks:  "for claims that are being made larger.",
		Why:    "How far that has come does not go along with the volume.",
		Remedy: "Wait until it is done.",
		Run:    ofSource((*Inspector).resizing),
	},
	{
		Name: "volumes of single pods", Group: GroupVolumes,
		Looks:  "at CSI volumes that the pod template has inline: whether their driver makes such volumes at the destination.",
		Why:    "A moved pod could not start.",
		Remedy: "Let the driver be there as it is in the source's cluster.",
		Run:    ofSource((*Inspector).inline),
	},
	{
		Name: "rehearsal", Group: GroupPods,
		Looks:  "at what the destination's API server says, in a dry run, to the Service, the StatefulSet, and the first ordinal's claims and volumes; and at the fields of the StatefulSet, its template included, that it does not keep.",
		Why:    "An admission policy, a webhook or an older version would refuse them, or drop fields without a word, when an ordinal is down already.",
		Remedy: "Let the policy pass them; let the cluster know the fields, or take them out of the template before the move.",
		Run:    ofBoth((*Inspector).rehearse),
	},
	{
		Name: "pods that copy", Group: GroupVolumes,
		Looks:  "at what both API servers say, in a dry run, to the pods that copy the first ordinal's claims, to the claims that they mount and to their Service, where volumes are to be copied; where they move by a snapshot, at what the destination says to the pod that a new volume may have to wait for.",
		Why:    "Pod Security, a webhook or a limit would refuse them when the ordinal is down already.",
		Remedy: "Let the policy pass them, or say what they may be: copy.runAsUser, copy.resources, copy.serviceType.",
		Run:    ofSource((*Inspector).movers),
	},
	{
		Name: "ordinals", Group: GroupPods,
		Looks:  "at whether the API servers keep spec.ordinals.start, in a dry run.",
		Why:    "Without it a slice would begin with ordinal 0, which runs on the other side.",
		Remedy: "Use Kubernetes 1.27 or newer, or our own kind.",
		Run:    ofBoth((*Inspector).startOrdinals),
	},
	{
		Name: "admission of pods", Group: GroupPods,
		Looks:  "at what the destination says, in a dry run, to the pod of the first ordinal with the labels that it will have: Pod Security, webhooks, limits, the RuntimeClass.",
		Why:    "A StatefulSet is let in whatever its pods are: the first ordinal would be stopped and not start again.",
		Remedy: "Label the namespace for Pod Security as at the source, or let the policy pass the pods.",
		Run:    ofSource((*Inspector).admission),
	},
	{
		Name: "running pods", Group: GroupPods,
		Looks:  "at the pod of the first ordinal as it runs, and as the destination would store it: for containers, volumes, environment, mounts and labels that it has at the source alone.",
		Why:    "A webhook or another admission plugin has added them at the source, and none does at the destination: a moved pod would run without its sidecar.",
		Remedy: "Have the same webhook at the destination, with the labels on the namespace by which it chooses.",
		Run:    ofSource((*Inspector).running),
	},
	{
		Name: "nodes", Group: GroupPods,
		Looks:  "at whether a node of the destination can take the pods: its name, nodeSelector and node affinity, taints, what one pod asks for, ports of the node, the architecture, topology spread, affinity to other pods and to its own, and all of it together with the node affinity of each volume.",
		Why:    "A moved ordinal would be stopped and stay Pending.",
		Remedy: "Label, untaint or add nodes before the move; an autoscaler must keep at least one such node.",
		Run:    ofBoth((*Inspector).placement),
	},
	{
		Name: "versions", Group: GroupPods,
		Looks:  "at the versions of both API servers and of the destination's kubelets.",
		Why:    "An older one may not know what the pods are made with, and Kubernetes supports kubelets up to three minor versions older than their API server.",
		Remedy: "Bring the destination up to date, or cordon the nodes that are not.",
		Run:    ofSource((*Inspector).skew),
	},
	{
		Name: "preStop hooks", Group: GroupPods,
		Looks:  "at the preStop hooks of the template, and the scripts of its ConfigMaps that they call, for words with which a member leaves its application for good.",
		Why:    "A hook runs whenever an ordinal is stopped to be moved; a member that has left is copied anew, or refused, when it comes back.",
		Remedy: "Have the hook step down only, or tell a move from a scale-down.",
		Run:    ofSource((*Inspector).hooks),
	},
	{
		Name: "names", Group: GroupNames,
		Looks:  "at whether the names of the pods stay the same, where each ordinal is to have a name for all clusters.",
		Why:    "A name that changes does not survive the move.",
		Remedy: "Keep name and namespace, or set spec.services.perOrdinal to None.",
		Run:    pure(func(e *Inspector, s Subject) []plan.Finding { return e.unnameable(s.Migration) }),
	},
	{
		Name: "names of one cluster", Group: GroupNames,
		Looks:  "at the environment, the arguments and the ConfigMaps of the template for names under svc.cluster.local, and names like web-0.web.",
		Why:    "They lead to pods of their own cluster only: on the other side to other pods, or to none.",
		Remedy: "Use the names under svc.clusterset.local that the finding has, with spec.services.",
		Run:    ofSource((*Inspector).addresses),
	},
	{
		Name: "services", Group: GroupNames,
		Looks:  "at the environment, the arguments and the ConfigMaps of the template for short names of Services that only the source's namespace has, such as zookeeper:2181; at the Services that select the pods, and at ports of nodes by which clients come.",
		Why:    "A moved pod finds nobody under such a name, and clients find no moved pod.",
		Remedy: "Have Services of these names at the destination before the move.",
		Run:    ofSource((*Inspector).services),
	},
	{
		Name: "exports", Group: GroupNames,
		Looks:  "at whether both clusters serve ServiceExport, where exports are asked for.",
		Why:    "Clients of the other cluster would not find the ordinals.",
		Remedy: "Install the Multi-Cluster Services API in both, or turn the exports off.",
		Run:    pure((*Inspector).unexportable),
	},
	{
		Name: "health gates", Group: GroupOther,
		Looks:  "at whether the health gates of spec.gates can be asked as they are written, and whether pods may be asked where a gate does that.",
		Why:    "The move would begin, and wait for a gate for ever.",
		Remedy: "Mend the gate, and bind the ClusterRole sliceshift-mover-gates where a gate asks pods.",
		Run:    ofSource((*Inspector).healthGates),
	},
	{
		Name: "hooks", Group: GroupOther,
		Looks:  "at whether the hooks of spec.hooks can be run: as they are written, with the rights that are there, and by what the API servers say to their Jobs, and the pods of these, in a dry run.",
		Why:    "The move would begin, and wait for a hook in the middle.",
		Remedy: "Correct the hook, bind the ClusterRole sliceshift-mover-jobs, or let the policy pass its pods.",
		Run:    ofSource((*Inspector).jobHooks),
	},
	{
		Name: "differences", Group: GroupDestination,
		Looks:  "at every field of a StatefulSet that the destination has already.",
		Why:    "A moved ordinal would be another pod than it was.",
		Remedy: "Make both equal, or delete the destination's.",
		Run: pure(func(e *Inspector, s Subject) []plan.Finding {
			return differences(e.Destination, s.Migration, s.Source, s.Destination)
		}),
	},
}

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
