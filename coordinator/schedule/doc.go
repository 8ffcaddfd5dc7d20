// Package schedule says when scheduled work starts: the times of a cron line in a time zone,
// and which of them start now. It is pure: time comes in as a value, and no timer runs here.
//
// The dialect is that of Debian's cron: five fields (minute, hour, day of month, month of year,
// day of week), lists, ranges and steps, names of months and days, and @hourly, @daily, @midnight,
// @weekly, @monthly, @yearly, @annually. Where day of month and day of week are both
// restricted, a day that either of them names counts; where one of them begins with *, both
// must name it.
//
// # Time zones
//
// A line names times on the wall clock of its zone. Where that clock is put forward, some
// times do not exist; where it is put back, some come twice:
//
//   - A time that does not exist starts at the first instant after the gap.
//   - A time that comes twice starts once, the first time.
//   - A time on a day that the zone left out altogether, such as 30 December 2011 in Samoa,
//     does not start.
//   - A line whose minute or hour field begins with * runs in real time, as in Debian's cron:
//     a time that does not exist does not start, one that comes twice starts twice. So
//     "0 * * * *" starts every hour.
//
// robfig/cron parses the fields, and gives the next time in UTC, where no clock is moved; the
// rule above is [Spec.Next]. docs/decisions/cron.md compares it with the libraries.
//
// # What starts
//
// [Spec.Due] decides from a [State], a [Policy] and the time now. It depends on nothing else,
// so a restarted coordinator decides the same. A schedule and one of its times together name
// a run; the state remembers the times up to which all is decided.
package schedule
