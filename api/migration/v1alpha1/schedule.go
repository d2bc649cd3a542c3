package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScheduleSpec limits the times at which ordinals may be stopped for the move. Everything else is done at any time:
// an ordinal that is down is started, and a rollback continues.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || timestamp('2026-01-01T00:00:00Z').getHours(self.timeZone) >= 0 && self.timeZone != 'Local'",message="timeZone must be the IANA name of a time zone, such as Europe/Berlin"
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.notAfter) || timestamp(self.notBefore) < timestamp(self.notAfter)",message="notBefore must be before notAfter"
type ScheduleSpec struct {
	// timeZone is the IANA name of the zone in which windows are written. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+/-]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// notBefore is the earliest start of the first handoff.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// notAfter is when the last handoff must have ended.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// windows are the times during which handoffs may run. Windows that overlap or touch are one. Default: always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`
	// expectedHandoffSeconds is how long one handoff is expected to take. No handoff starts that would not end before
	// its window closes. Default: the longest duration so far in this migration, and at least a minute, plus the time
	// that a pod must be Ready, plus its termination grace period above 30 s.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ExpectedHandoffSeconds *int32 `json:"expectedHandoffSeconds,omitempty"`
}

// Weekday is a day of the week.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// Window is a recurring time.
//
// +kubebuilder:validation:XValidation:rule="has(self.start) != has(self.from)",message="set when it opens: either start, or from with days"
// +kubebuilder:validation:XValidation:rule="!has(self.start) || self.start.matches('^ *([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?(,([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)* +([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?(,([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?(,([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/[1-9][0-9]?)?(,([*?]|(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/[1-9][0-9]?)?(,([*?]|(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/[1-9][0-9]?)?)* *$')",message="start must be the five fields of cron: minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-6"
// +kubebuilder:validation:XValidation:rule="!has(self.days) || has(self.from)",message="days need from"
// +kubebuilder:validation:XValidation:rule="duration(self.duration) >= duration('1m') && duration(self.duration) <= duration('168h')",message="duration must be from 1m to 168h"
type Window struct {
	// start is when it opens, as a cron expression of five fields.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Start string `json:"start,omitempty"`
	// days on which it opens. Default: every day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`
	// from is when it opens on these days, in hours and minutes: 22:30.
	// +optional
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from,omitempty"`
	// duration is how long it stays open, also past midnight.
	// +required
	// +kubebuilder:validation:Format=duration
	Duration metav1.Duration `json:"duration"`
}

// ScheduleStatus is the position of a migration in its schedule.
type ScheduleStatus struct {
	// open is true when a handoff may begin now.
	// +optional
	Open bool `json:"open"`
	// opensTime is when the next handoff may start; absent if that is now, or never.
	// +optional
	OpensTime *metav1.Time `json:"opensTime,omitempty"`
	// closesTime is when the open window, or the next one, closes; absent if never.
	// +optional
	ClosesTime *metav1.Time `json:"closesTime,omitempty"`
	// handoffSeconds is how long the next handoff is expected to take.
	HandoffSeconds int32 `json:"handoffSeconds"`
	// left is how many ordinals must still be stopped.
	// +optional
	Left int32 `json:"left"`
}

// Pace is the duration of handoffs.
type Pace struct {
	// longestSeconds is the longest duration of a handoff that has arrived at the destination.
	LongestSeconds int32 `json:"longestSeconds"`
}
