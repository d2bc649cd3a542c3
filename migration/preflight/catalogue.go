package preflight

import (
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Group is a category of checks, as shown to users.
type Group string

// The groups, in display order.
const (
	GroupAccess      Group = "clusters and rights"
	GroupSource      Group = "source"
	GroupWriters     Group = "owners and writers"
	GroupBudget      Group = "disruption budget"
	GroupDestination Group = "destination"
	GroupPods        Group = "pods at the destination"
	GroupVolumes     Group = "volumes"
	GroupNames       Group = "names"
	GroupOther       Group = "other"
)

var groups = []Group{GroupAccess, GroupSource, GroupWriters, GroupBudget, GroupDestination, GroupPods, GroupVolumes, GroupNames, GroupOther}

// Names of checks that run before any check of the registry.
const (
	checkKinds  = "kinds"
	checkRights = "rights"
)

// foundations lists the checks that run first. If one of them fails, no other check can run.
var foundations = []string{checkKinds, checkRights, plan.CheckOrdinals}

// others lists the checks that are not in the registry: those that run before it, and those of a snapshot, which
// package planner runs.
var others = []Check{
	{
		Name: checkKinds, Group: GroupAccess,
		Looks:  "at whether both clusters serve the kind of StatefulSet that is to move.",
		Why:    "What a cluster does not know cannot be moved there.",
		Remedy: "Install the resource definition and the manager there, or move to apps/v1.",
	},
	{
		Name: checkRights, Group: GroupAccess,
		Looks:  "at every right that the move needs, on both sides.",
		Why:    "A move without one of them would stop in the middle.",
		Remedy: "Bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster to the identity that the finding names.",
	},
	{
		Name: plan.CheckOrdinals, Group: GroupSource,
		Looks:  "at the numbers of ordinals and claims of both sides.",
		Why:    "Numbers that no application has would have the move count without end.",
		Remedy: "Correct replicas and spec.ordinals.start.",
	},
	{
		Name: plan.CheckSource, Group: GroupSource,
		Looks:  "at the source: that it exists, is not being deleted, is not in the middle of a roll-out, keeps its claims, and that every replica is available.",
		Why:    "Moving one more replica of an application that is not at rest takes it below its budget.",
		Remedy: "Wait for the roll-out, and mend the pods that the finding names.",
	},
	{
		Name: plan.CheckBudget, Group: GroupBudget,
		Looks:  "at the PodDisruptionBudgets of both sides: that there is at most one, on the pods of the application and no others, and that it lets a replica be unavailable.",
		Why:    "A budget that others draw from, or of nothing, cannot be shared out between two slices.",
		Remedy: "Leave one PodDisruptionBudget, for these pods, with maxUnavailable of 1 or more.",
	},
	{
		Name: plan.CheckForm, Group: GroupBudget,
		Looks:  "at how the PodDisruptionBudgets are written: a share that is rounded up, and whether both sides have the same unhealthyPodEvictionPolicy.",
		Why:    "More pods may be down than the share says at first sight, and a drain would treat broken pods otherwise on each side.",
		Remedy: "Say the budget of the move as a number, and give both the same policy.",
	},
	{
		Name: plan.CheckDestination, Group: GroupDestination,
		Looks:  "at the destination: its namespace, a StatefulSet that is there already and who holds it, and pods with the names of ordinals.",
		Why:    "Somebody else's objects in the place of an ordinal would be taken for it.",
		Remedy: "Create the namespace, and remove or rename what is in the way.",
	},
	{
		Name: plan.CheckSplit, Group: GroupDestination,
		Looks:  "at the ordinals that the destination has already: whether both slices lie side by side.",
		Why:    "One ordinal would run twice, or a gap would be left.",
		Remedy: "Scale the destination to the slice that goes on from the source's, or to 0.",
	},
	{
		Name: plan.CheckVolumes, Group: GroupVolumes,
		Looks:  "at the claims and volumes of every ordinal that is to move, on both sides.",
		Why:    "An ordinal would start on another disk than it had, or on none.",
		Remedy: "Bind the claims of the source, and remove what is foreign at the destination.",
	},
	{
		Name: plan.CheckServices, Group: GroupNames,
		Looks:  "for Services that have the names of ordinals, where each is to have a name for all clusters.",
		Why:    "Somebody else's Service would be overwritten, or lead elsewhere.",
		Remedy: "Rename the Service, or set spec.services.perOrdinal to None.",
	},
	{
		Name: plan.CheckCopies, Group: GroupPods,
		Looks:  "at what is to be copied of what the pods need besides their volumes, on both sides: whether the source has it, the destination knows its kind, has something else under the name, and whether it selects pods of others.",
		Why:    "The moved ordinals would not get what the others get, or others would get what is not meant for them.",
		Remedy: "Make both sides equal, or set spec.dependencies.onConflict or selectsOthers.",
	},
	{
		Name: plan.CheckWriters, Group: GroupWriters,
		Looks:  "at who else writes the source, where they are to be paused: whether they can be read, and whether another migration has paused one.",
		Why:    "Who is not paused writes replicas back in mid-move, and who was paused for another migration does when that ends.",
		Remedy: "Bind the ClusterRole sliceshift-mover-writers in the namespace of each writer, or wait for the other migration.",
	},
	{
		Name: plan.CheckSchedule, Group: GroupOther,
		Looks:  "at the windows of spec.schedule: whether they can be read, whether one opens ever again, and whether one is long enough for a handoff.",
		Why:    "The move would begin, and no ordinal would ever be moved.",
		Remedy: "Correct the window, the time zone, or notBefore and notAfter; say with expectedHandoffSeconds how long a handoff takes.",
	},
}

// Catalogue returns all checks by group, each group in the order of execution.
func Catalogue() []Check {
	var all []Check
	for _, group := range groups {
		for _, check := range slices.Concat(others, checks) {
			if check.group() == group {
				all = append(all, check)
			}
		}
	}
	return all
}

func (c Check) group() Group {
	if !slices.Contains(groups, c.Group) {
		return GroupOther
	}
	return c.Group
}

// Docs returns the link to the documentation of the check and of its remedies.
func (c Check) Docs() string {
	return "docs/preflight.md#" + strings.ReplaceAll(strings.ToLower(c.Name), " ", "-")
}
