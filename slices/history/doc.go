// Package history keeps the revisions of a StatefulSet of ours: which template its
// pods were made from, and which one they are on their way to.
//
// A revision is a ControllerRevision whose data apps/v1 would have written for the
// same template, byte for byte: either kind of StatefulSet takes over the history of
// the other, and the pods with it. Two revisions mean the same when their templates
// do once the defaults of apps/v1 are filled in, however they were written down.
//
// What holds after every Sync:
//
//	H1  the update revision means what spec.template says, and has the largest number;
//	H2  a template that was there before gets its old revision back, under its old name;
//	H3  no revision is deleted that status.currentRevision, the template or a pod
//	    names: a pod can always be made anew as it was;
//	H4  of revisions that mean the same the newest stays; the others go once no pod
//	    names them any more;
//	H5  a settled history is not written to.
//
// An example, with revisionHistoryLimit 1: templates A, B and A again give web-a
// number 3 and web-b number 2; template C then makes web-c with number 4, and web-b is
// deleted as soon as no pod is left at it.
//
// Claim templates are versioned with the template when volumeClaimUpdateStrategy is
// OnPodRollingUpdate. What they request is kept in an annotation, which apps/v1 does
// not look at; a revision without it was written by apps/v1, and fits any claims.
package history
