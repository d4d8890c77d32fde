import type { WordLists } from '../types.ts';

export const arabic: WordLists = {
  language: 'ar',
  lists: {
    IN_DATA: 'في النتائج, في الصفوف, في البيانات, في النتيجة, في العمود',
    COMMANDS: 'التعليمات, الأوامر, تعليمات, أوامر',
    CARRY_OUT: 'نفذ, اتبع, أطع, ونفذ',
    WITHOUT_PERMISSION: 'دون إذن, بدون إذن, دون موافقة, بدون موافقة, دون سؤال, دون استئذان, دون تأكيد',
    DATA: 'البيانات, النتائج, النتيجة, الصفوف, المحتوى, الرسائل',
    IGNORE: 'تجاهل, تجاهلي, تجاهلوا, انس, انسى, انسوا, لا تتبع, لا تلتزم, تخط, تخطى, تجاوز, اهمل, لا تطع, ألغ, اترك, وتجاهل, لا تنفذ',
    PRIOR:
      'السابقة, السابق, أعلاه, الماضية, الأصلية, من قبل, سابقا, المذكورة, قبل, الأولى, السالفة, القديمة, أعطيت لك من قبل, التي أعطيت لك, التي تلقيتها',
    RULES: 'التعليمات, تعليمات, القواعد, قواعد, الأوامر, أوامر, الإرشادات, التوجيهات, الضوابط, تعليماتك, قواعدك, الموجه',
    YOUR: 'الخاصة بك, لديك',
    OBEY: 'اتبع, واتبع, أطع, التزم, نفذ',
    ONLY: 'فقط, حصرا',
    THIS_TEXT: 'هذا النص, هذه الأداة, هذا الوصف, هذه التعليمات, هذه القواعد',
    SYSTEM_PROMPT: 'موجه النظام, تعليمات النظام, رسالة النظام, التعليمات المخفية, مطالبة النظام, التعليمات السرية, برومبت النظام',
    VERBATIM: 'كاملة, حرفيا, بالكامل, كلمة بكلمة',
    SHOW: 'اعرض, أظهر, اكشف, اطبع, أخبرني, كرر, اكتب, أرسل, اذكر',
    NOW_YOU: 'أنت الآن, من الآن فصاعدا أنت, الآن أنت, لم تعد, منذ الآن أنت, ابتداء من الآن أنت, اعتبارا من الآن أنت',
    UNRESTRICTED:
      'بدون قيود, بلا قيود, دون قيود, دون أي قيود, بدون أي قيود, بلا حدود, بدون فلاتر, غير مقيد, بلا قواعد, دون رقابة, لا ترفض, بدون حدود',
    READ: 'اقرأ, افتح, انسخ, أرسل, محتوى, محتويات, مرر, واقرأ',
    SEND: 'أرسل, وأرسل, انسخ, وانسخ, ضع, وضع, مرر, ومرر, أضف, وأضف, أدرج, ارفع',
    SECRET: 'كلمة المرور, كلمات المرور, كلمات السر, بيانات الاعتماد, مفاتيح api, مفتاح api, المفاتيح السرية, الرموز السرية',
    OWN: 'المستخدم, من المحادثة, الخاصة بك, المشروع',
    DONT: 'لا, دون, بدون, ولا, لن',
    TELL: 'تخبر, تذكر, تعلم, تبلغ, إخبار, إبلاغ, تقل, إعلام, علم, تظهر, تكشف',
    USER: 'المستخدم, للمستخدم, المستخدمين, مستخدم',
    SILENTLY: 'سرا, خفية, بصمت, خلسة, بهدوء',
    DO: 'أرسل, انسخ, نفذ, استدع, مرر, أضف',
    CONVO: 'المحادثة, الدردشة, سجل المحادثة, الحوار, محادثة, سجل الدردشة',
    WHOLE: 'كاملة, كامل, كل, جميع, بالكامل, كاملا',
    FILE: 'ملف, الملف, ملفات, المجلد',
    ALWAYS: 'دائما, يجب, في كل مرة',
    CALL: 'استدع, استخدم, استدعاء, استخدام, اتصل',
    BEFORE: 'قبل, أولا, بدلا من',
    THIS_TOOL: 'هذه الأداة, هذه الوظيفة',
    ANY_OTHER_TOOL: 'أي أداة أخرى, جميع الأدوات الأخرى, الأدوات الأخرى, أداة أخرى, أي أداة',
  },
};

export const vietnamese: WordLists = {
  language: 'vi',
  lists: {
    IGNORE: 'bỏ qua, phớt lờ, quên, hãy quên, không tuân theo, đừng tuân theo, lờ đi, không làm theo, đừng làm theo, vi phạm',
    PRIOR: 'trước đó, trước đây, ở trên, phía trên, ban đầu, trước, đã nhận',
    RULES: 'hướng dẫn, chỉ dẫn, chỉ thị, quy tắc, lệnh, quy định, lời nhắc',
    YOUR: 'của bạn',
    SYSTEM_PROMPT: 'lời nhắc hệ thống, prompt hệ thống, hướng dẫn hệ thống, chỉ dẫn hệ thống, thông điệp hệ thống',
    SHOW: 'hiển thị, in ra, tiết lộ, cho tôi biết, lặp lại, xuất ra, gửi, cho xem',
    NOW_YOU: 'bây giờ bạn là, từ giờ bạn là, từ bây giờ bạn là, bạn không còn là',
    UNRESTRICTED:
      'không có giới hạn, không giới hạn, không bị hạn chế, không có hạn chế, không có bất kỳ hạn chế, không bộ lọc, không có quy tắc, không kiểm duyệt',
    DONT: 'đừng, không, không được, không bao giờ',
    TELL: 'nói, cho biết, thông báo, báo, tiết lộ, đề cập, nói với',
    USER: 'người dùng, với người dùng, cho người dùng',
    CONVO: 'cuộc trò chuyện, hội thoại, lịch sử trò chuyện, đoạn chat',
    WHOLE: 'toàn bộ, tất cả, cả',
    SEND: 'gửi, sao chép, chuyển, đính kèm, đưa',
    SECRET: 'mật khẩu, khóa api, thông tin đăng nhập, mã thông báo',
    OWN: 'của người dùng, của bạn, trong cuộc trò chuyện',
  },
};

export const indonesian: WordLists = {
  language: 'id',
  lists: {
    IGNORE: 'abaikan, lupakan, jangan ikuti, hiraukan, langgar, kesampingkan, lewati, jangan patuhi',
    PRIOR: 'sebelumnya, di atas, terdahulu, awal, lama, tadi, yang ada',
    RULES: 'instruksi, aturan, perintah, petunjuk, arahan, pedoman, prompt',
    YOUR: 'anda, kamu, mu',
    SYSTEM_PROMPT: 'prompt sistem, instruksi sistem, pesan sistem, instruksi tersembunyi, instruksi awal',
    SHOW: 'tampilkan, cetak, ungkapkan, tunjukkan, ulangi, kirim, beritahu, tulis',
    NOW_YOU:
      'sekarang kamu adalah, mulai sekarang kamu adalah, kamu sekarang adalah, anda sekarang adalah, mulai sekarang anda adalah, sekarang anda adalah',
    UNRESTRICTED: 'tanpa batasan, tanpa batas, tanpa filter, tanpa aturan, tanpa sensor, tanpa pembatasan, tidak ada batasan',
    DONT: 'jangan, tanpa, tidak boleh, jangan pernah',
    TELL: 'beritahu, memberitahu, katakan, sebutkan, menyebutkan, ungkapkan, kabari, beri tahu',
    USER: 'pengguna, kepada pengguna',
    CONVO: 'percakapan, riwayat obrolan, obrolan, riwayat percakapan',
    WHOLE: 'seluruh, semua, keseluruhan',
    SEND: 'kirim, kirimkan, salin, sertakan, masukkan, lampirkan, teruskan',
    SECRET: 'kata sandi, kunci api, kredensial, sandi',
    OWN: 'pengguna, anda, dari percakapan',
  },
};
