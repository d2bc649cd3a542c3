package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ScheduleSpec says when ordinals may be stopped to be moved. Everything else is done at any time: an
// ordinal that is down is brought up, and what goes back to the source goes back.
//
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || timestamp('2026-01-01T00:00:00Z').getHours(self.timeZone) >= 0 && self.timeZone != 'Local'",message="timeZone must be the IANA name of a time zone, such as Europe/Berlin"
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.notAfter) || timestamp(self.notBefore) < timestamp(self.notAfter)",message="notBefore must be before notAfter"
type ScheduleSpec struct {
	// timeZone is the IANA name of the zone in which windows are written. Default: UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+/-]*$`
	TimeZone string `json:"timeZone,omitempty"`
	// notBefore is when the first handoff may begin.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// notAfter is when the last handoff must be over.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// windows are when handoffs may be under way. Those that overlap or touch are one. Without any it
	// is always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`
	// expectedHandoffSeconds is how long one handoff takes, by your word: none begins that would not
	// be over when its window closes. Default: as long as the longest so far of this migration, and at
	// least a minute and the time that a pod must be Ready.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	ExpectedHandoffSeconds *int32 `json:"expectedHandoffSeconds,omitempty"`
}

// Weekday is a day of the week.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// Window is a time that comes again and again.
//
// +kubebuilder:validation:XValidation:rule="has(self.start) != has(self.from)",message="say when it opens: either start, or from with the days"
// +kubebuilder:validation:XValidation:rule="!has(self.start) || self.start.matches('^ *([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?(,([*?]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)* +([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?(,([*?]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?(,([*?]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/[1-9][0-9]?)?(,([*?]|(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-(0?[1-9]|1[0-2]|[Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/[1-9][0-9]?)?)* +([*?]|(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/[1-9][0-9]?)?(,([*?]|(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-(0?[0-6]|[Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/[1-9][0-9]?)?)* *$')",message="start must be the five fields of cron: minute 0-59, hour 0-23, day 1-31, month 1-12, weekday 0-6"
// +kubebuilder:validation:XValidation:rule="!has(self.days) || has(self.from)",message="days need from"
// +kubebuilder:validation:XValidation:rule="duration(self.duration) >= duration('1m') && duration(self.duration) <= duration('168h')",message="duration must be from 1m to 168h"
type Window struct {
	// start is when it opens, as five fields of cron.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Start string `json:"start,omitempty"`
	// days are those on which it opens. Default: every day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`
	// from is when it opens on these days, as hours and minutes: 22:30.
	// +optional
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from,omitempty"`
	// duration is how long it stays open, past midnight too.
	// +required
	// +kubebuilder:validation:Format=duration
	Duration metav1.Duration `json:"duration"`
}

// ScheduleStatus is where a migration is in its schedule.
type ScheduleStatus struct {
	// open is true when a handoff may begin now.
	// +optional
	Open bool `json:"open"`
	// opensTime is when the next handoff may begin; absent: now, or never.
	// +optional
	OpensTime *metav1.Time `json:"opensTime,omitempty"`
	// closesTime is when the window closes that is open, or the next one; absent: never.
	// +optional
	ClosesTime *metav1.Time `json:"closesTime,omitempty"`
	// handoffSeconds is how long the next handoff is expected to take.
	HandoffSeconds int32 `json:"handoffSeconds"`
	// left is how many ordinals are still to be stopped.
	// +optional
	Left int32 `json:"left"`
}

// Pace is how long handoffs took.
type Pace struct {
	// longestSeconds is how long the longest took that has come to the destination.
	LongestSeconds int32 `json:"longestSeconds"`
}
